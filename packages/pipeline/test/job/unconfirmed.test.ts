import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { listMembers } from "../../src/job/members.ts";
import { rankScores } from "../../src/score/rank-scores.ts";
import type { JobId, RequestId, SubmissionId } from "@sluice/core";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { confirmDispatch } from "../../src/job/sql/confirm-dispatch.ts";
import { deferJob, startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { openDatabase, type Database } from "@sluice/db";
import { postponeJob } from "../../src/job/sql/postpone-job.ts";
import { readJobTotals } from "../../src/submission/sql/read-totals.ts";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { separateSubmissions } from "../../src/job/sql/separate-submissions.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { dispatch, jobId, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const MINUTE = 60_000;

/** Records a job with documents of two submissions, the first in two parts. */
async function shared() {
  const [mine, other] = [await open(db, { total: 2 }), await open(db, { total: 1 })];
  const id = jobId();
  await record(db, id, [
    [part(mine, 0, [{ id: "a" }]), part(mine, 1, [{ id: "b" }], 1), part(other, 0, [{ id: "c" }])],
  ]);
  return { mine, other, id };
}

/** Starts the next dispatch after one without a recorded result. */
async function startAgain(id: JobId, dispatchNumber: number, database = db) {
  const status = dispatchNumber === 0 ? "pending" : "dispatching";
  return startDispatch(
    database,
    { id, dispatchNumber, status },
    { until: NOW + MINUTE, token: `t${dispatchNumber}` },
    NOW,
  );
}

const unconfirmed = async (id: Parameters<typeof readSubmission>[1]) =>
  (await readSubmission(db, id))?.unconfirmedDispatches;

describe("a dispatch that may have been run", () => {
  it("counts for a submission canceled before the next, and for others when the job ends", async () => {
    const { mine, other, id } = await shared();
    await startAgain(id, 0);
    await cancelSubmission(db, mine, NOW);
    const again = await startAgain(id, 1);
    expect([await unconfirmed(mine), await unconfirmed(other)]).toEqual([1, 0]);
    await startAgain(id, 2);
    await confirmDispatch(db, { id, dispatchNumber: 3 }, "request-3" as RequestId, NOW);
    const scores = rankScores([0.25, 0.75], null);
    const outcomes = listMembers(again?.members ?? []).map((member) => ({ ...member, scores }));
    const end = { status: "succeeded", outcomes, children: [], tokens: null, error: null } as const;
    await finalizeJobs(db, [{ job: { id, dispatchNumber: 3, status: "dispatched" }, end }], NOW);
    expect([await unconfirmed(mine), await unconfirmed(other)]).toEqual([1, 2]);
  });

  it("stays in the total of all jobs if the job ends as canceled", async () => {
    const { mine, other, id } = await shared();
    await startAgain(id, 0);
    expect(await readJobTotals(db)).toMatchObject({ open: 1, unconfirmed: 0 });
    await cancelSubmission(db, mine, NOW);
    await cancelSubmission(db, other, NOW);
    await startAgain(id, 1);
    expect([await unconfirmed(mine), await unconfirmed(other)]).toEqual([1, 1]);
    expect(await readJobTotals(db)).toMatchObject({ open: 0, ended: 1, unconfirmed: 1 });
  });

  it("counts for a submission once all of its documents in the job are deleted", async () => {
    const { mine, id } = await shared();
    await startAgain(id, 0);
    await deleteDocument(db, { collection: "default", id: "a" }, NOW);
    await startAgain(id, 1);
    expect(await unconfirmed(mine)).toBe(0);
    await deleteDocument(db, { collection: "default", id: "b" }, NOW);
    await startAgain(id, 2);
    expect(await unconfirmed(mine)).toBe(2);
  });

  it("counts if a pause abandons the dispatch and a cancellation empties the job", async () => {
    const { mine, other, id } = await shared();
    await startAgain(id, 0);
    await cancelSubmission(db, mine, NOW);
    await deferJob(db, { id, dispatchNumber: 1, status: "dispatching" }, null, NOW);
    await deferJob(db, { id, dispatchNumber: 1, status: "pending" }, null, NOW);
    expect([await unconfirmed(mine), await unconfirmed(other)]).toEqual([1, 0]);
  });

  it("counts for a submission that a pause separates, and for the rest", async () => {
    const { mine, other, id } = await shared();
    await startAgain(id, 0);
    const error = { reason: "retry", message: "" };
    await postponeJob(
      db,
      { id, dispatchNumber: 1, status: "dispatching" },
      error,
      { dispatch: "unconfirmed", refused: true },
      NOW,
      NOW,
    );
    const apart = jobId();
    const job = { id, dispatchNumber: 1, status: "pending" } as const;
    await separateSubmissions(db, job, [mine], apart, NOW);
    await separateSubmissions(db, job, [mine], apart, NOW);
    expect([await unconfirmed(mine), await unconfirmed(other)]).toEqual([1, 0]);
    await succeed(db, apart, await dispatch(db, apart));
    expect(await unconfirmed(mine)).toBe(1);
  });

  it("costs one read of the job if there was none, for any number of submissions", async () => {
    const id = jobId();
    const submissions = await Promise.all(Array.from({ length: 30 }, () => open(db)));
    const parts = submissions.map((submission, n) => part(submission, 0, [{ id: `d${n}` }]));
    await record(db, id, [parts]);
    await cancelSubmission(db, submissions[0] as SubmissionId, NOW);
    const { d1, counts } = countedDatabase(env.DB);
    await startAgain(id, 0, openDatabase(d1));
    const counting = counts.find(({ statement }) => statement.startsWith("WITH leaving"));
    expect(counting).toMatchObject({ written: 0 });
    expect(counting?.read).toBeLessThanOrEqual(4);
    expect(await readJobTotals(db)).toMatchObject({ open: 1, ended: 0 });
  });
});
