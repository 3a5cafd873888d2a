import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import type { JobId, SubmissionId } from "@sluice/core";
import { mergeJobs, weighMergeableJobs } from "../../src/job/sql/merge-jobs.ts";
import { openDatabase, type Database } from "@sluice/db";
import { readHoldingJobs } from "../../src/job/sql/read-holding-jobs.ts";
import { readJobTotals } from "../../src/submission/sql/read-totals.ts";
import { readWaitingJobs } from "../../src/job/sql/read-waiting-jobs.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { dispatch, jobId, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const row = async (id: JobId) => (await rows(`SELECT * FROM jobs WHERE id = '${id}'`))[0];

interface SmallJob {
  readonly submission: SubmissionId;
  readonly id: JobId;
}

/** Creates pending jobs, each with a submission of one document. */
async function small(count: number): Promise<[SmallJob, ...SmallJob[]]> {
  const made: SmallJob[] = [];
  for (let index = 0; index < count; index += 1) {
    const submission = await open(db);
    const id = jobId();
    await record(db, id, [[part(submission, 0, [{ id: `d${index}`, contextIds: ["a", "b"] }])]]);
    made.push({ submission, id });
  }
  return made as [SmallJob, ...SmallJob[]];
}
const others = (made: readonly { id: JobId }[]) => made.slice(1).map(({ id }) => id);

describe("merging jobs", () => {
  it("moves documents and weights to the target, and ends the others without counting them", async () => {
    const made = await small(3);
    const [target] = made;
    const before = await row(target.id);
    expect(await mergeJobs(db, target.id, others(made), NOW + 5)).toEqual(new Set(others(made)));
    expect(await row(target.id)).toMatchObject({
      status: "pending",
      document_count: 3,
      context_count: 6,
      payload_bytes: 3 * Number(before?.["payload_bytes"]),
      due_at: before?.["due_at"],
      members: JSON.stringify(made.map(({ submission }, index) => [submission, [`d${index}`]])),
    });
    expect(
      await rows("SELECT status, merged_into, due_at, ended_at, finalized_sequence FROM jobs WHERE status = 'merged'"),
    ).toEqual(
      Array.from({ length: 2 }, () => ({
        status: "merged",
        merged_into: target.id,
        due_at: null,
        ended_at: NOW + 5,
        finalized_sequence: null,
      })),
    );
    expect(await readJobTotals(db)).toMatchObject({ open: 1, ended: 0 });
    const members = await dispatch(db, target.id);
    await succeed(db, target.id, members);
    expect(await readJobTotals(db)).toMatchObject({ open: 0, ended: 1 });
    expect(await rows("SELECT DISTINCT succeeded, jobs, completed_at FROM submissions")).toEqual([
      { succeeded: 1, jobs: 1, completed_at: NOW },
    ]);
  });

  it("changes nothing when it is repeated", async () => {
    const made = await small(3);
    const [target] = made;
    await mergeJobs(db, target.id, others(made), NOW);
    const once = await rows("SELECT * FROM jobs ORDER BY id");
    expect(await mergeJobs(db, target.id, others(made), NOW + 1)).toEqual(new Set(others(made)));
    expect(await rows("SELECT * FROM jobs ORDER BY id")).toEqual(once);
  });

  it.each([
    { what: "was dispatched", change: "dispatch_number = 1" },
    { what: "is held by a pause", change: "paused_by = 'all'" },
    { what: "waits for another answer", change: "round = 2" },
    { what: "is of another lane", change: "lane = 'interactive'" },
    { what: "was in other batches", change: "batches = 1" },
    { what: "was halved", change: "halvings = 1" },
    { what: "ended", change: "status = 'canceled', due_at = NULL, ended_at = 1" },
  ])("leaves out a job that $what", async ({ change }) => {
    const made = await small(3);
    const [target, second, third] = made.map(({ id }) => id) as [JobId, JobId, JobId];
    await env.DB.exec(`UPDATE jobs SET ${change} WHERE id = '${second}'`);
    const before = await row(second);
    expect(await mergeJobs(db, target, [second, third], NOW)).toEqual(new Set([third]));
    expect(await row(second)).toEqual(before);
    expect(await row(target)).toMatchObject({ document_count: 2 });
  });

  it("merges nothing into a job that has been dispatched", async () => {
    const made = await small(2);
    const [target] = made;
    await startDispatch(db, { id: target.id, dispatchNumber: 0, status: "pending" }, { until: NOW, token: "t" }, NOW);
    const before = await rows("SELECT * FROM jobs ORDER BY id");
    expect(await mergeJobs(db, target.id, others(made), NOW)).toEqual(new Set());
    expect(await rows("SELECT * FROM jobs ORDER BY id")).toEqual(before);
  });

  it("merges nothing into a job that has ended, as canceled or merged", async () => {
    const [emptied, absorbed, another, waiting] = (await small(4)) as [SmallJob, SmallJob, SmallJob, SmallJob];
    await deleteDocument(db, { collection: "default", id: "d0" }, NOW);
    await startDispatch(db, { id: emptied.id, dispatchNumber: 0, status: "pending" }, { until: NOW, token: "t" }, NOW);
    await mergeJobs(db, another.id, [absorbed.id], NOW);
    const before = await rows("SELECT * FROM jobs ORDER BY id");
    expect(before).toMatchObject([
      { status: "canceled" },
      { status: "merged" },
      { status: "pending" },
      { status: "pending" },
    ]);
    for (const { id } of [emptied, absorbed]) expect(await mergeJobs(db, id, [waiting.id], NOW)).toEqual(new Set());
    expect(await rows("SELECT * FROM jobs ORDER BY id")).toEqual(before);
  });

  it("links the job that recorded a document to the one that holds it", async () => {
    const made = await small(3);
    const [target, middle, last] = made as [SmallJob, SmallJob, SmallJob];
    await mergeJobs(db, middle.id, [last.id], NOW);
    await mergeJobs(db, target.id, [middle.id], NOW);
    expect(await readHoldingJobs(db, [{ root: last.id, submission: last.submission, id: "d2" }])).toMatchObject([
      { id: target.id, document: "d2", status: "pending" },
    ]);
    expect(await readWaitingJobs(db, [last.submission])).toMatchObject([
      { submission: last.submission, status: "pending" },
    ]);
  });
});

describe("jobs that may be merged", () => {
  it("are weighed with their lists and the ids of their contexts", async () => {
    const [job] = await small(1);
    expect(await weighMergeableJobs(db, [job.id])).toEqual([
      {
        id: job.id,
        documentCount: 1,
        contexts: 2,
        payloadBytes: (await row(job.id))?.["payload_bytes"],
        memberBytes: JSON.stringify([[job.submission, ["d0"]]]).length,
        contextIdBytes: '["a","b"]'.length,
      },
    ]);
  });

  it("are not pieces of a split job, nor documents that a pause separated", async () => {
    const made = await small(4);
    const [split, piece, kept, free] = made.map(({ id }) => id) as [JobId, JobId, JobId, JobId];
    await env.DB.exec(`UPDATE jobs SET status = 'split', due_at = NULL, ended_at = 1 WHERE id = '${split}'`);
    await env.DB.exec(`UPDATE jobs SET parent_id = '${split}' WHERE id = '${piece}'`);
    await env.DB.exec(`UPDATE jobs SET parent_id = '${piece}' WHERE id = '${kept}'`);
    expect((await weighMergeableJobs(db, [split, piece, kept, free])).map(({ id }) => id)).toEqual([free]);
  });

  it("are merged with rows read and written in proportion to them", async () => {
    const made = await small(40);
    const { d1, counts } = countedDatabase(env.DB);
    const counted = openDatabase(d1);
    const ids = made.map(({ id }) => id);
    await weighMergeableJobs(counted, ids);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(6 * 40);
    counts.length = 0;
    await mergeJobs(counted, ids[0] as JobId, ids.slice(1), NOW);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(15 * 40);
    expect(counts.reduce((sum, count) => sum + count.written, 0)).toBeLessThanOrEqual(2 * 40);
    expect(counts).toHaveLength(3);
  });
});
