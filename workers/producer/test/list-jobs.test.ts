import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { postponeJob } from "@sluice/pipeline/job/sql/postpone-job.ts";
import { startDispatch } from "@sluice/pipeline/job/sql/start-dispatch.ts";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { jobId, open, part, record } from "@sluice/pipeline/test-support/fixtures.ts";
import type { JobShape } from "../src/shapes/job.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { NOW, testApi } from "./api.ts";
import { allPages, ask, at, db, limited, type Page, recorded, refused, scored } from "./stored.ts";

/** Rows read by all statements of a request. */
async function rowsRead(path: string): Promise<number> {
  const { d1, counts } = countedDatabase(env.DB);
  await ask(path, {}, await testApi({ db: openDatabase(d1) }));
  return counts.reduce((sum, count) => sum + count.read, 0);
}

describe("the list of jobs", () => {
  it("gives jobs newest first under every key of the shape, without tokens of dispatches", async () => {
    const { submission, job } = await recorded([{ id: "a", contexts: ["one", "two", "three"] }]);
    await startDispatch(
      db(),
      { id: job, dispatchNumber: 0, status: "pending" },
      { until: NOW + 120_000, token: "secret-token" },
      NOW,
    );
    const error = { reason: "retry", message: "3040: no capacity" };
    await postponeJob(
      db(),
      { id: job, dispatchNumber: 1, status: "dispatching" },
      error,
      { dispatch: "unconfirmed", refused: true },
      NOW + 60_000,
      NOW + 1_000,
    );
    const { job: newer } = await scored([{ id: "b" }], {}, NOW + 5_000);
    const page = await ask<Page<JobShape>>("/v1/jobs");
    expect(page.data.map((one) => one.id)).toEqual([newer, job]);
    expect(JSON.stringify(page)).not.toContain("secret-token");
    expect(page.data[1]).toEqual({
      id: job,
      status: "pending",
      lane: "bulk",
      model: "@cf/baai/bge-m3",
      request_id: null,
      parent_id: null,
      merged_into: null,
      attempts: [{ attempt: 1, started_at: at(NOW), ended_at: at(NOW + 1_000), request_id: null, error }],
      document_count: 1,
      context_count: 3,
      payload_bytes: expect.any(Number),
      age_seconds: 0,
      next_poll_at: null,
      waiting: { reason: "retry", until: at(NOW + 60_000) },
      usage: { tokens: null, unconfirmed_dispatches: 1, repeated_dispatches: 0 },
      created_at: at(NOW),
      dispatched_at: at(NOW),
      ended_at: null,
    });
    expect(await ask(`/v1/jobs/${job}`)).toEqual(page.data[1]);
    expect(page.data[0]).toMatchObject({
      status: "succeeded",
      request_id: "request-1",
      attempts: [{ attempt: 1, request_id: "request-1", error: null, ended_at: at(NOW + 5_000) }],
      next_poll_at: null,
      waiting: null,
      usage: { tokens: 1_000 },
    });
    expect((await ask<SubmissionShape>(`/v1/submissions/${submission}`)).waiting).toEqual(page.data[1]?.waiting);
  });

  it("is filtered by status and lane, page by page", async () => {
    const ended: string[] = [];
    const pending: string[] = [];
    for (let index = 0; index < 6; index += 1) {
      ended.unshift((await scored([{ id: `e${index}` }], {}, NOW + index)).job);
      pending.unshift((await recorded([{ id: `p${index}` }], {}, NOW + index)).job);
    }
    const listed = async (query: string) =>
      (await allPages<JobShape>(`/v1/jobs${query}`)).map((page) => page.map((one) => one.id));
    expect(await listed("?status=succeeded&limit=4")).toEqual([ended.slice(0, 4), ended.slice(4)]);
    expect(await listed("?status=pending&limit=4")).toEqual([pending.slice(0, 4), pending.slice(4)]);
    expect((await listed("?lane=bulk&limit=100")).flat()).toHaveLength(12);
    expect(await listed("?lane=interactive")).toEqual([[]]);
    expect((await listed("?limit=5")).map((page) => page.length)).toEqual([5, 5, 2]);
  });

  it("shows a limited key the jobs that hold its documents", async () => {
    const { job: mine } = await recorded([{ id: "a" }], { collection: "mine" });
    const { job: other } = await recorded([{ id: "a" }], { collection: "other" });
    const shared = jobId();
    for (const collection of ["mine", "other"]) {
      const submission = await open(db(), { collection });
      await record(db(), shared, [[part(submission, 0, [{ id: "s" }], 0, collection)]]);
    }
    const page = await ask<Page<JobShape>>("/v1/jobs", {}, await limited());
    expect(page.data.map((one) => one.id).toSorted()).toEqual([mine, shared].toSorted());
    expect((await refused(`/v1/jobs/${other}`, {}, await limited())).response.status).toBe(404);
    expect(await ask(`/v1/jobs/${mine}`, {}, await limited())).toMatchObject({ id: mine });
  });

  it.each(["job_01999999-0000-7000-8000-000000000000", "sub_01999999-0000-7000-8000-000000000000", "x"])(
    "has no job %s",
    async (id) => {
      expect((await refused(`/v1/jobs/${id}`)).response.status).toBe(404);
    },
  );

  it("reads rows in proportion to the page among 100,000 jobs", async () => {
    const { submission } = await recorded([{ id: "a" }]);
    await env.DB.prepare(`
      INSERT INTO jobs (id, model, lane, status, round, dispatch_number, document_count, context_count, payload_bytes, created_at, ended_at,
        finalized_sequence, members)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      SELECT printf('job_%08x-%04x-7000-8000-%012x', ${NOW} >> 16, ${NOW} & 65535, i), '@cf/baai/bge-m3', 'bulk', 'succeeded', 1, 1, 1, 1, 1,
        ${NOW}, ${NOW}, i, '[["${submission}",["a"]]]' FROM n`).run();
    expect(await rowsRead("/v1/jobs?limit=50")).toBeLessThanOrEqual(51 * 3 + 10);
    expect(await rowsRead("/v1/jobs?status=pending")).toBeLessThanOrEqual(20);
    expect(await rowsRead("/v1/jobs?status=failed")).toBeLessThanOrEqual(3 * 2_000 + 10);
  });
});
