import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { closeSubmission } from "../../src/submission/sql/close-submission.ts";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { openDatabase, type Database } from "@sluice/db";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { separateSubmissions } from "../../src/job/sql/separate-submissions.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { dispatch, jobId, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const SECOND = 1_000;

describe("deleting from a submission that is still open", () => {
  it("does not complete it if all documents have ended; closing does", async () => {
    const submission = await open(db, { total: 2, closed: false });
    const id = jobId();
    await record(db, id, [[part(submission, 0, [{ id: "a" }])]]);
    await succeed(db, id, await dispatch(db, id));
    await record(db, jobId(), [[part(submission, 1, [{ id: "b" }], 1)]]);
    expect(await deleteDocument(db, { collection: "default", id: "b" }, NOW + SECOND)).toBe(1);
    expect(await readSubmission(db, submission)).toMatchObject({ succeeded: 1, canceled: 1, completedAt: null });
    expect(await closeSubmission(db, submission, NOW + 2 * SECOND)).toBe("closed");
    expect(await readSubmission(db, submission)).toMatchObject({
      succeeded: 1,
      canceled: 1,
      completedAt: NOW + 2 * SECOND,
    });
  });
});

describe("taking a paused submission out of a follow-up job", () => {
  it("keeps the round that it has reached", async () => {
    const [paused, other] = [await open(db), await open(db)];
    const id = jobId();
    await record(db, id, [[part(paused, 0, [{ id: "a" }]), part(other, 0, [{ id: "b" }])]]);
    const child = { id: jobId(), round: 3, members: await dispatch(db, id), dueAt: NOW };
    const end = { status: "succeeded", outcomes: [], children: [child], tokens: null, error: null } as const;
    await finalizeJobs(db, [{ job: { id, dispatchNumber: 1, status: "dispatched" }, end }], NOW);
    await env.DB.prepare("UPDATE jobs SET refusals = 2 WHERE id = ?").bind(child.id).run();
    const apart = jobId();
    const job = { id: child.id, dispatchNumber: 0, status: "pending" } as const;
    expect(await separateSubmissions(db, job, [paused], apart, NOW)).toBe("some");
    expect(await rows(`SELECT round, refusals, members FROM jobs WHERE id = '${apart}'`)).toEqual([
      { round: 3, refusals: 2, members: JSON.stringify([[paused, ["a"]]]) },
    ]);
    expect(await rows(`SELECT round, refusals FROM jobs WHERE id = '${child.id}'`)).toEqual([
      { round: 3, refusals: 2 },
    ]);
  });
});

describe("canceling", () => {
  it("does not count an ended document twice if a list still has it", async () => {
    // No push has an id twice. If a message did, only this guard would keep the counters equal to the rows.
    const submission = await open(db, { total: 3 });
    const [first, second] = [jobId(), jobId()];
    await record(db, first, [[part(submission, 0, [{ id: "a" }])]]);
    await record(db, second, [[part(submission, 1, [{ id: "a" }, { id: "b" }], 1)]]);
    await succeed(db, first, await dispatch(db, first));
    await cancelSubmission(db, submission, NOW);
    await startDispatch(db, { id: second, dispatchNumber: 0, status: "pending" }, { until: NOW, token: "t" }, NOW);
    expect(await readSubmission(db, submission)).toMatchObject({ succeeded: 1, canceled: 1 });
    expect(await rows("SELECT document_id, status FROM outcomes ORDER BY document_id")).toEqual([
      { document_id: "a", status: "succeeded" },
      { document_id: "b", status: "canceled" },
    ]);
  });
});
