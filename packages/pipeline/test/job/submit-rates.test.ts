import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { MAX_SUBMITS_PER_MINUTE, SUBMIT_BURST_MS, SUBMIT_SPACING_MS } from "../../src/job/schedule.ts";
import type { JobId, SubmissionId } from "@sluice/core";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { deferJob, startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { openDatabase, type Database } from "@sluice/db";
import { jobId, MODEL, NOW, open, part, record } from "../../test-support/fixtures.ts";
import { unreliableDatabase } from "../../test-support/unreliable-database.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const job = async (): Promise<{ readonly id: JobId; readonly dispatchNumber: 0; readonly status: "pending" }> => {
  const id = jobId();
  await record(db, id, [[part(await open(db), 0, [{}])]]);
  return { id, dispatchNumber: 0, status: "pending" };
};
const start = async (one: Awaited<ReturnType<typeof job>>, now: number, on = db) =>
  startDispatch(on, one, { until: now + 120_000, token: `t-${one.id}` }, now);
const nextAt = async () => (await rows("SELECT next_at FROM submit_rates"))[0]?.["next_at"];

describe("the submit rate", () => {
  it("stays within the published 3,000 per minute, and allows the promised capacity", () => {
    const inAMinute = (60_000 + SUBMIT_BURST_MS) / SUBMIT_SPACING_MS + 1;
    expect(inAMinute).toBeLessThan(MAX_SUBMITS_PER_MINUTE);
    expect(60_000 / SUBMIT_SPACING_MS).toBeGreaterThanOrEqual(2_400);
  });

  it("is used by each dispatch, and allows a burst of some seconds", async () => {
    await start(await job(), NOW);
    expect(await nextAt()).toBe(NOW - SUBMIT_BURST_MS + SUBMIT_SPACING_MS);
    await start(await job(), NOW);
    expect(await nextAt()).toBe(NOW - SUBMIT_BURST_MS + 2 * SUBMIT_SPACING_MS);
    await start(await job(), NOW + 60_000);
    expect(await nextAt()).toBe(NOW + 60_000 - SUBMIT_BURST_MS + SUBMIT_SPACING_MS);
  });

  it("starts no dispatch over it, and leaves the job unchanged", async () => {
    const one = await job();
    await env.DB.exec(`INSERT INTO submit_rates VALUES ('${MODEL}', ${NOW + 1})`);
    const before = await rows("SELECT * FROM jobs");
    expect(await start(one, NOW)).toBeNull();
    expect(await rows("SELECT * FROM jobs")).toEqual(before);
    expect(await nextAt()).toBe(NOW + 1);
    expect(await start(one, NOW + 1)).toMatchObject({ dispatchNumber: 1 });
  });

  it("is reset if the next turn is hours ahead, after D1's clock was set back", async () => {
    const one = await job();
    await env.DB.exec(`INSERT INTO submit_rates VALUES ('${MODEL}', ${NOW + 3_600_000})`);
    expect(await start(one, NOW)).toMatchObject({ dispatchNumber: 1 });
    expect(await nextAt()).toBe(NOW - SUBMIT_BURST_MS + SUBMIT_SPACING_MS);
  });

  it("of another model has no effect", async () => {
    const one = await job();
    await env.DB.exec(`INSERT INTO submit_rates VALUES ('another', ${NOW + 1_000})`);
    expect(await start(one, NOW)).toMatchObject({ dispatchNumber: 1 });
  });

  it("defers a job to when it allows a submit", async () => {
    const one = await job();
    await env.DB.exec(`INSERT INTO submit_rates VALUES ('${MODEL}', ${NOW + 700})`);
    expect(await deferJob(db, one, "submit_rate", NOW)).toBe(NOW + 700);
    expect(await rows("SELECT status, due_at, dispatch_number AS dispatchNumber, batches FROM jobs")).toEqual([
      { status: "pending", due_at: NOW + 700, dispatchNumber: 0, batches: 0 },
    ]);
    expect(await deferJob(db, one, "submit_rate", NOW + 800)).toBe(NOW + 800);
    expect(await deferJob(db, { ...one, dispatchNumber: 1 }, "submit_rate", NOW)).toBeNull();
  });

  it("does not delay canceled documents", async () => {
    const one = await job();
    const [submission] = (await rows("SELECT id FROM submissions")) as [{ id: SubmissionId }];
    await cancelSubmission(db, submission.id, NOW);
    await env.DB.exec(`INSERT INTO submit_rates VALUES ('${MODEL}', ${NOW + 700})`);
    expect(await deferJob(db, one, "submit_rate", NOW)).toBeNull();
    expect(await rows("SELECT status FROM jobs")).toEqual([{ status: "canceled" }]);
    expect(await rows("SELECT status FROM outcomes")).toEqual([{ status: "canceled" }]);
  });

  it("is not used by a job with nothing left to send", async () => {
    const one = await job();
    await env.DB.exec("DELETE FROM documents");
    expect(await start(one, NOW)).toEqual({ dispatchNumber: 1, members: [] });
    expect(await rows("SELECT * FROM submit_rates")).toEqual([]);
  });

  it("allows a dispatch whose commit an error hid", async () => {
    const one = await job();
    const { d1 } = unreliableDatabase(env.DB, (call) => (call === 1 ? "after" : null));
    expect(await start(one, NOW, openDatabase(d1))).toMatchObject({ dispatchNumber: 1 });
  });
});
