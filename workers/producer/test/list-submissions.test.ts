import { env } from "cloudflare:test";
import type { SubmissionId } from "@sluice/core";
import { cancelSubmission } from "@sluice/pipeline/submission/sql/cancel-submission.ts";
import { rollUpTotals } from "@sluice/pipeline/submission/sql/roll-up-totals.ts";
import { openDatabase } from "@sluice/db";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { open } from "@sluice/pipeline/test-support/fixtures.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { NOW, testApi } from "./api.ts";
import { allPages, ask, at, db, failed, ids, limited, type Page, recorded, refused, scored } from "./stored.ts";

const HOUR = 3_600_000;
type SubmissionPage = Page<SubmissionShape> & { readonly counts?: SubmissionShape["counts"] };

/** Rows read by all statements of a request. */
async function rowsRead(path: string): Promise<number> {
  const { d1, counts } = countedDatabase(env.DB);
  await ask(path, {}, await testApi({ db: openDatabase(d1) }));
  return counts.reduce((sum, count) => sum + count.read, 0);
}

describe("the list of submissions", () => {
  const listed = async (query: string) =>
    (await allPages<SubmissionShape>(`/v1/submissions${query}`)).flat().map((one) => one.id);

  it("is filtered by the status that submissions show", async () => {
    const queued = await open(db(), { total: 2 });
    const { submission: processing } = await recorded(ids(0, 1));
    const { submission: completed } = await scored(ids(1, 2));
    const receiving = await open(db(), { total: 2, closed: false });
    const { submission: canceling } = await recorded(ids(2, 3));
    await cancelSubmission(db(), canceling, NOW);
    const expected = { queued, processing, completed, receiving, canceling };
    for (const [status, id] of Object.entries(expected)) expect(await listed(`?status=${status}`)).toEqual([id]);
    expect(await listed("?status=canceled")).toEqual([]);
  });

  it("is filtered by stalled, in any status", async () => {
    const queued = await open(db(), { total: 2 });
    await open(db(), { total: 2, closed: false });
    const { submission: processing } = await recorded(ids(0, 1), { total: 2 });
    await scored(ids(1, 2));
    const api = await testApi({ now: () => NOW + HOUR });
    const listed = async (status: string) =>
      (await ask<Page<SubmissionShape>>(`/v1/submissions?status=${status}`, {}, api)).data;
    expect((await listed("stalled")).map(({ id, status }) => [id, status])).toEqual([
      [processing, "processing"],
      [queued, "queued"],
    ]);
    expect((await listed("stalled")).every(({ stalled }) => stalled !== null)).toBe(true);
    expect((await listed("queued")).map(({ id }) => id)).toEqual([queued]);
    expect(await ask<Page<SubmissionShape>>("/v1/submissions?status=stalled")).toMatchObject({ data: [] });
  });

  it("is filtered by collection, label and time, and by all of them together", async () => {
    const mine = await open(db(), { collection: "mine", label: "l" }, NOW);
    const other = await open(db(), { collection: "other", label: "l" }, NOW + HOUR);
    const third = await open(db(), { collection: "mine", label: "another" }, NOW + 2 * HOUR);
    const plain = await open(db(), {}, NOW + 3 * HOUR);
    expect(await listed("")).toEqual([plain, third, other, mine]);
    expect(await listed("?collection=mine")).toEqual([third, mine]);
    expect(await listed("?label=l")).toEqual([other, mine]);
    expect(await listed(`?since=${at(NOW + HOUR)}`)).toEqual([plain, third, other]);
    expect(await listed(`?since=${encodeURIComponent("2026-09-21T15:13:20.001+01:00")}&label=l`)).toEqual([other]);
    expect(await listed(`?since=${at(NOW + 3 * HOUR).toLowerCase()}`)).toEqual([plain]);
    expect(await listed("?label=l&collection=mine&status=queued")).toEqual([mine]);
  });

  it("gives every match once, page by page, and continues after short pages", async () => {
    const odd: SubmissionId[] = [];
    for (let index = 0; index < 30; index += 1) {
      const id = await open(db(), { collection: index % 2 === 1 ? "odd" : "even" }, NOW + index);
      if (index % 2 === 1) odd.push(id);
    }
    const pages = await allPages<SubmissionShape>("/v1/submissions?collection=odd&limit=4");
    expect(pages.flat().map((one) => one.id)).toEqual(odd.toReversed());
    expect(pages.map((page) => page.length)).toEqual([4, 4, 4, 3]);
  });

  it.each([
    ["?status=done", "?status"],
    ["?collection=a%20b", "?collection"],
    ["?label=", "?label"],
    ["?since=yesterday", "?since"],
    ["?since=2026-01-01", "?since"],
  ])("refuses %s by name", async (query, pointer) => {
    const { response, problem } = await refused(`/v1/submissions${query}`);
    expect([response.status, problem.errors[0]?.pointer]).toEqual([422, pointer]);
  });

  it("says how to write the offset of a time", async () => {
    const { problem } = await refused("/v1/submissions?since=2026-01-01T00:00:00+01:00");
    expect(problem.detail).toContain("write a + in it as %2B");
  });

  it("sums up a label's documents over all its submissions, not only those of the page", async () => {
    await scored(ids(0, 3), { label: "l" });
    await failed(ids(3, 5), "model_error", { label: "l" });
    await recorded(ids(5, 6), { label: "l", total: 2 });
    await scored(ids(6, 8), { label: "another" });
    const page = await ask<SubmissionPage>("/v1/submissions?label=l&limit=1&status=completed");
    expect(page.counts).toEqual({ total: 7, queued: 1, processing: 1, succeeded: 3, failed: 2, canceled: 0 });
    expect(page.data).toHaveLength(1);
    expect(await ask("/v1/submissions")).not.toHaveProperty("counts");
    expect((await ask<SubmissionPage>("/v1/submissions?label=nothing")).counts?.total).toBe(0);
  });

  it("gives the same sums after ended submissions are rolled up, and when some are retried", async () => {
    await scored(ids(0, 3), { label: "l" });
    const { submission } = await failed(ids(3, 5), "model_error", { label: "l" });
    await recorded(ids(5, 6), { label: "l", total: 2 });
    const counts = async () => (await ask<SubmissionPage>("/v1/submissions?label=l")).counts;
    const before = await counts();
    while (await rollUpTotals(db(), NOW + HOUR));
    expect(await counts()).toEqual(before);
    await ask(`/v1/submissions/${submission}/retry`, { method: "POST" });
    expect(await counts()).toEqual({ ...before, processing: 3, failed: 0 });
    while (await rollUpTotals(db(), NOW + HOUR));
    expect(await counts()).toEqual({ ...before, processing: 3, failed: 0 });
  });

  it("shows a key limited to collections only those, in the sums too", async () => {
    await scored(ids(0, 3), { label: "l", collection: "mine" });
    await scored(ids(0, 2), { label: "l", collection: "other" });
    const page = await ask<SubmissionPage>("/v1/submissions?label=l", {}, await limited());
    expect([page.data.length, page.counts?.total]).toEqual([1, 3]);
    expect((await ask<SubmissionPage>("/v1/submissions?collection=other", {}, await limited())).data).toEqual([]);
  });

  it("reads rows in proportion to the page among 100,000 submissions, with any filter", async () => {
    await env.DB.prepare(`
      INSERT INTO submissions (id, collection, model, lane, label, truncate_inputs, total, recorded, succeeded, created_at,
        active_at, closed_at, completed_at)
      WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
      SELECT printf('sub_%08x-%04x-7000-8000-%012x', (${NOW} + i) >> 16, (${NOW} + i) & 65535, i), iif(i = 0, 'rare', 'default'),
        '@cf/baai/bge-m3', 'bulk', iif(i % 1000 = 0, 'l', NULL), 1, 1, 1, 1, ${NOW} + i, ${NOW} + i, ${NOW} + i, ${NOW} + i FROM n`).run();
    expect(await rowsRead("/v1/submissions?limit=50")).toBeLessThanOrEqual(60);
    expect(await rowsRead("/v1/submissions?limit=500")).toBeLessThanOrEqual(510);
    // A page looks through 2,000 at most, however rare the matches are.
    expect(await rowsRead("/v1/submissions?status=canceled")).toBeLessThanOrEqual(2_010);
    expect(await rowsRead("/v1/submissions?collection=rare")).toBeLessThanOrEqual(2_010);
    expect(await rowsRead(`/v1/submissions?since=${at(NOW + 99_990)}`)).toBeLessThanOrEqual(20);
    while (await rollUpTotals(db(), NOW + HOUR));
    // An index entry and a row for each submission with the label.
    expect(await rowsRead("/v1/submissions?label=l&limit=50")).toBeLessThanOrEqual(2 * 51 + 20);
    expect((await ask<SubmissionPage>("/v1/submissions?label=l&limit=1")).counts?.succeeded).toBe(100);
    expect(await rowsRead("/v1/stats")).toBeLessThanOrEqual(50);
  });
});
