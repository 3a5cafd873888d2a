import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import type { JobId, RequestId, SubmissionId } from "@sluice/core";
import { claimDueJobs } from "../../src/job/sql/claim-due-jobs.ts";
import { closeSubmission } from "../../src/submission/sql/close-submission.ts";
import { confirmDispatch } from "../../src/job/sql/confirm-dispatch.ts";
import { countFailures, readSubmission } from "../../src/submission/sql/read-submission.ts";
import type { JobEnd } from "../../src/job/job-end.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { openDatabase, type Database } from "@sluice/db";
import { postponeJob } from "../../src/job/sql/postpone-job.ts";
import { readDocument } from "../../src/document/sql/read-document.ts";
import { readHoldingJobs } from "../../src/job/sql/read-holding-jobs.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import {
  claimLimits,
  dispatch,
  jobId,
  NOW,
  open,
  part,
  record,
  succeed,
  type TestDocument,
} from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const END = { status: "succeeded", outcomes: [], children: [], tokens: null, error: null } as const satisfies JobEnd;

async function dispatched(documents: readonly TestDocument[]): Promise<{ submission: SubmissionId; id: JobId }> {
  const submission = await open(db, { total: documents.length });
  const id = jobId();
  await record(db, id, [[part(submission, 0, documents)]]);
  await dispatch(db, id);
  return { submission, id };
}

describe("finalizing a job", () => {
  it("happens once for any number of Workers", async () => {
    const { submission, id } = await dispatched([{ id: "a" }, { id: "b" }]);
    const members = [[submission, ["a", "b"]]] as const;
    expect(await Promise.all([succeed(db, id, members), succeed(db, id, members)])).toEqual([true, false]);
    expect(await readSubmission(db, submission)).toMatchObject({
      succeeded: 2,
      jobs: 1,
      tokens: 1_000,
      completedAt: NOW,
    });
  });

  it("ignores an answer to an older dispatch", async () => {
    const { submission, id } = await dispatched([{ id: "a" }]);
    const job = { id, dispatchNumber: 1, status: "dispatched" } as const;
    await postponeJob(db, job, { reason: "stuck", message: "" }, { dispatch: "repeated", refused: true }, NOW, NOW);
    await startDispatch(db, { id, dispatchNumber: 1, status: "pending" }, { until: NOW + 1, token: "t" }, NOW);
    expect(await confirmDispatch(db, job, "late" as RequestId, NOW)).toBe(false);
    expect(await succeed(db, id, [[submission, ["a"]]])).toBe(false);
    expect(await rows("SELECT * FROM outcomes")).toEqual([]);
    expect(await rows("SELECT status, dispatch_number AS dispatchNumber, repeated_dispatches FROM jobs")).toEqual([
      { status: "dispatching", dispatchNumber: 2, repeated_dispatches: 1 },
    ]);
  });

  it("drops the answer for a deleted document, and counts only written outcomes", async () => {
    const { submission, id } = await dispatched([{ id: "a" }, { id: "b" }]);
    await env.DB.prepare("DELETE FROM documents WHERE document_id = 'a'").run();
    await succeed(db, id, [[submission, ["a", "b"]]]);
    expect(await rows("SELECT document_id FROM outcomes")).toEqual([{ document_id: "b" }]);
    expect(await readSubmission(db, submission)).toMatchObject({ succeeded: 1, completedAt: null });
  });

  it("divides a job's tokens by payload and counts per submission", async () => {
    const [one, two] = [await open(db, { total: 3 }), await open(db, { total: 1 })];
    const id = jobId();
    await record(db, id, [
      [part(one, 0, [{ id: "a" }, { id: "b" }]), part(two, 0, [{ id: "c" }]), part(one, 1, [{ id: "d" }], 2)],
    ]);
    const members = await dispatch(db, id);
    expect(members).toHaveLength(3);
    await succeed(db, id, members);
    const [first, second] = [await readSubmission(db, one), await readSubmission(db, two)];
    expect(first).toMatchObject({ succeeded: 3, jobs: 1, tokens: 750, completedAt: NOW });
    expect(second).toMatchObject({ succeeded: 1, jobs: 1, tokens: 250, completedAt: NOW });
  });

  it("records a follow-up job for the rest in the same transaction", async () => {
    const { submission, id } = await dispatched([{ id: "a" }, { id: "b" }]);
    const child = { id: jobId(), round: 2, members: [[submission, ["b"]]], dueAt: NOW } as const;
    const outcomes = [{ submission, document: "a", code: "model_error", message: "no" }] as const;
    await finalizeJobs(
      db,
      [{ job: { id, dispatchNumber: 1, status: "dispatched" }, end: { ...END, outcomes, children: [child] } }],
      NOW,
    );
    expect(await readHoldingJobs(db, [{ root: id, submission, id: "b" }])).toMatchObject([
      { id: child.id, round: 2, status: "pending", document: "b" },
    ]);
    expect(await rows(`SELECT document_count, context_count, parent_id FROM jobs WHERE id = '${child.id}'`)).toEqual([
      { document_count: 1, context_count: 2, parent_id: id },
    ]);
    expect(await readSubmission(db, submission)).toMatchObject({ succeeded: 0, failed: 1, completedAt: null });
    expect(await countFailures(db, [submission])).toMatchObject([{ code: "model_error", count: 1 }]);
    expect(await rows("SELECT document_id, code, message, attempts FROM failures")).toEqual([
      { document_id: "a", code: "model_error", message: "no", attempts: 1 },
    ]);
  });

  it("writes outcomes larger than one D1 value can be", async () => {
    const contexts = Array.from({ length: 1_000 }, (_, index) => `context ${index}`);
    const contextIds = contexts.map((_, index) => `${index}-`.padEnd(500, "x"));
    const submission = await open(db, { total: 5 });
    const id = jobId();
    const parts = ["a", "b", "c", "d", "e"].map((name, place) => [
      part(submission, place, [{ id: name, contexts, contextIds }], place),
    ]);
    await record(db, id, parts);
    await dispatch(db, id);
    const outcomes = ["a", "b", "c", "d", "e"].map((document) => ({
      submission,
      document,
      scores: contextIds.map((name, index) => [index, 1 - index / 1_000, name] as const),
    }));
    await finalizeJobs(db, [{ job: { id, dispatchNumber: 1, status: "dispatched" }, end: { ...END, outcomes } }], NOW);
    expect(await rows("SELECT count(*) AS n, min(rank) AS first, max(rank) AS last FROM scores")).toEqual([
      { n: 5_000, first: 1, last: 1_000 },
    ]);
  });

  it("completes a submission that is closed after its last document ended", async () => {
    const submission = await open(db, { total: 1, closed: false });
    const id = jobId();
    await record(db, id, [[part(submission, 0, [{ id: "a" }])]]);
    await succeed(db, id, await dispatch(db, id));
    expect(await readSubmission(db, submission)).toMatchObject({ succeeded: 1, completedAt: null });
    await closeSubmission(db, submission, NOW + 1);
    expect(await readSubmission(db, submission)).toMatchObject({ completedAt: NOW + 1 });
  });
});

describe("claiming jobs", () => {
  const limits = claimLimits(NOW);

  it("gives a due job to one of two runs", async () => {
    await dispatched([{ id: "a" }]);
    const runs = await Promise.all([claimDueJobs(db, limits, NOW + 40_000), claimDueJobs(db, limits, NOW + 40_000)]);
    expect(runs.map((jobs) => jobs.length).toSorted()).toEqual([0, 1]);
    expect(runs.flat()[0]).toMatchObject({ status: "dispatched", requestId: "request-1", dispatchNumber: 1 });
  });

  /** Records waiting jobs that are due, the first the longest. Returns their ids. */
  async function due(
    count: number,
    more: (index: number) => { lane?: string; dispatchNumber?: number; bytes?: number },
  ) {
    await env.DB.exec("UPDATE jobs SET due_at = 9e15 WHERE due_at IS NOT NULL");
    const submission = await open(db, { total: count });
    const ids = Array.from({ length: count }, () => jobId());
    for (const [index, id] of ids.entries()) {
      await record(db, id, [[part(submission, index, [{}], index)]]);
      const { lane = "bulk", dispatchNumber = 0, bytes = 100 } = more(index);
      await env.DB.prepare("UPDATE jobs SET due_at = ?, lane = ?, dispatch_number = ?, payload_bytes = ? WHERE id = ?")
        .bind(NOW - count + index, lane, dispatchNumber, bytes, id)
        .run();
    }
    return ids;
  }
  const places = (ids: readonly JobId[], claimed: readonly { id: JobId }[]) =>
    claimed.map(({ id }) => ids.indexOf(id)).toSorted((a, b) => a - b);

  it("takes the longest waiting jobs, and each lane up to its share", async () => {
    const ids = await due(6, (index) => ({ lane: index % 2 === 0 ? "interactive" : "bulk" }));
    expect(places(ids, await claimDueJobs(db, { ...limits, dispatches: 3 }, NOW))).toEqual([0, 1, 2]);
    expect(places(ids, await claimDueJobs(db, { ...limits, dispatches: 3 }, NOW))).toEqual([3, 4]);
  });

  it("counts a job that was dispatched before as twenty new ones", async () => {
    const ids = await due(5, (index) => ({ dispatchNumber: index === 2 ? 1 : 0 }));
    expect(places(ids, await claimDueJobs(db, { ...limits, dispatches: 66 }, NOW))).toEqual([0, 1, 2]);
  });

  it("takes payload up to a limit for both lanes together, or one larger job", async () => {
    const claim = (payloadBytes: number) => claimDueJobs(db, { ...limits, payloadBytes }, NOW);
    const lanes = await due(4, (index) => ({ lane: index < 2 ? "interactive" : "bulk", bytes: 40 }));
    expect(places(lanes, await claim(100))).toEqual([0, 2]);
    const large = await due(3, () => ({ bytes: 500 }));
    expect(places(large, await claim(100))).toEqual([0]);
  });

  it("finds polls behind many waiting jobs, and waiting jobs behind many polls", async () => {
    const { id } = await dispatched([{ id: "p" }]);
    const ids = await due(30, () => ({}));
    await env.DB.prepare("UPDATE jobs SET due_at = ? WHERE id = ?")
      .bind(NOW - 1, id)
      .run();
    expect(await claimDueJobs(db, { ...limits, polls: 3, dispatches: 3 }, NOW)).toMatchObject([
      { status: "dispatched" },
      { status: "pending" },
    ]);
    await env.DB.exec(
      "UPDATE jobs SET status = 'dispatched', dispatch_number = 1, request_id = id WHERE status = 'pending'",
    );
    await env.DB.exec(`UPDATE jobs SET status = 'pending', due_at = ${NOW} WHERE id = '${ids[29]}'`);
    expect(await claimDueJobs(db, { ...limits, polls: 0 }, NOW)).toMatchObject([{ id: ids[29] }]);
  });
});

describe("the views", () => {
  async function push(id: string, query: string, now: number) {
    const submission = await open(db, { total: 1 }, now);
    const job = jobId(now);
    await record(db, job, [[part(submission, 0, [{ id, query }])]], now);
    return { submission, job, members: await dispatch(db, job, now) };
  }

  it("show the newest version that succeeded, for any order of the answers", async () => {
    const [first, second] = [await push("a", "one", NOW), await push("a", "two", NOW + 1)];
    await succeed(db, second.job, second.members, NOW + 2, [0.9, 0.1]);
    expect(await rows("SELECT DISTINCT submission_id FROM scores")).toEqual([{ submission_id: second.submission }]);
    await succeed(db, first.job, first.members, NOW + 3, [0.1, 0.9]);
    expect(await rows("SELECT context_id, score, rank, submission_id FROM scores ORDER BY rank")).toEqual([
      { context_id: "0", score: 0.9, rank: 1, submission_id: second.submission },
      { context_id: "1", score: 0.1, rank: 2, submission_id: second.submission },
    ]);
    expect(await rows("SELECT context_id, context_index, score, rank, finalized_at FROM best")).toEqual([
      { context_id: "0", context_index: 0, score: 0.9, rank: 1, finalized_at: new Date(NOW + 2).toISOString() },
    ]);
  });

  it("keep old scores until there are newer ones, with the version that they show", async () => {
    const first = await push("a", "one", NOW);
    await succeed(db, first.job, first.members, NOW);
    const second = await push("a", "two", NOW + 1);
    expect(await rows("SELECT DISTINCT submission_id FROM scores")).toEqual([{ submission_id: first.submission }]);
    expect(await readDocument(db, { collection: "default", id: "a" }, false)).toMatchObject({
      submissionId: second.submission,
      query: "two",
      status: null,
      olderSubmissionId: first.submission,
    });
    const outcomes = [{ submission: second.submission, document: "a", code: "invalid_result", message: "no" }] as const;
    await finalizeJobs(
      db,
      [{ job: { id: second.job, dispatchNumber: 1, status: "dispatched" }, end: { ...END, outcomes } }],
      NOW,
    );
    expect(await rows("SELECT DISTINCT submission_id FROM scores")).toEqual([{ submission_id: first.submission }]);
    expect(await rows("SELECT submission_id FROM failures")).toEqual([{ submission_id: second.submission }]);
  });
});
