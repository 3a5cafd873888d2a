import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { rankScores } from "../../src/score/rank-scores.ts";
import type { JobId, SubmissionId } from "@sluice/core";
import type { EndingJob } from "../../src/job/job-end.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { openDatabase, type Database } from "@sluice/db";
import { postponeJob } from "../../src/job/sql/postpone-job.ts";
import { readJobDocuments } from "../../src/job/sql/read-job-documents.ts";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { dispatch, jobId, NOW, open, part, record } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(async () => {
  db = openDatabase(env.DB);
  for (const table of ["outcomes", "documents", "parts", "contexts", "jobs", "submissions"])
    await env.DB.exec(`DELETE FROM ${table}`);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;

/** Records a dispatched job of these documents, each its own part: `[submission, part number, id]`. */
async function dispatched(...documents: readonly (readonly [SubmissionId, number, string])[]): Promise<JobId> {
  const id = jobId();
  await record(
    db,
    id,
    documents.map(([submission, number, name]) => [part(submission, number, [{ id: name }], number)]),
  );
  await dispatch(db, id);
  return id;
}

/** Builds the end of a job's first dispatch, with scores for these documents. */
function ended(id: JobId, ...documents: readonly (readonly [SubmissionId, string])[]): EndingJob {
  const outcomes = documents.map(([submission, document]) => ({
    submission,
    document,
    scores: rankScores([0.25, 0.75], null),
  }));
  const end = { status: "succeeded", outcomes, children: [], tokens: 100, error: null } as const;
  return { job: { id, dispatchNumber: 1, status: "dispatched" }, end };
}

/** Records `count` jobs of one document each, all of one submission. Returns how each ends. */
async function manyJobs(count: number): Promise<EndingJob[]> {
  const submission = await open(db, { total: count });
  const ending: EndingJob[] = [];
  for (let number = 0; number < count; number += 1)
    ending.push(ended(await dispatched([submission, number, `d${number}`]), [submission, `d${number}`]));
  return ending;
}

describe("finalizing several jobs at once", () => {
  it("adds the results of all of them to the counters of shared submissions", async () => {
    const [one, two] = [await open(db, { total: 3 }), await open(db, { total: 2 })];
    const first = await dispatched([one, 0, "a"], [two, 0, "b"]);
    const second = await dispatched([one, 1, "c"], [two, 1, "d"]);
    const third = await dispatched([one, 2, "e"]);
    const ids = await finalizeJobs(
      db,
      [ended(first, [one, "a"], [two, "b"]), ended(second, [one, "c"], [two, "d"]), ended(third, [one, "e"])],
      NOW,
    );
    expect(ids).toEqual(new Set([first, second, third]));
    expect(await readSubmission(db, one)).toMatchObject({ succeeded: 3, jobs: 3, tokens: 200, completedAt: NOW });
    expect(await readSubmission(db, two)).toMatchObject({ succeeded: 2, jobs: 2, tokens: 100, completedAt: NOW });
    expect(await rows("SELECT document_id, job_id FROM outcomes ORDER BY document_id")).toEqual([
      { document_id: "a", job_id: first },
      { document_id: "b", job_id: first },
      { document_id: "c", job_id: second },
      { document_id: "d", job_id: second },
      { document_id: "e", job_id: third },
    ]);
  });

  it("gives each job its own finalized sequence, in the order given", async () => {
    await finalizeJobs(db, await manyJobs(1), NOW);
    const ending = (await manyJobs(3)).toReversed();
    await finalizeJobs(db, ending, NOW);
    const sequences = await rows("SELECT id, finalized_sequence AS sequence FROM jobs ORDER BY finalized_sequence");
    expect(sequences.slice(1)).toEqual(ending.map(({ job }, index) => ({ id: job.id, sequence: index + 2 })));
  });

  it("leaves a job unchanged whose dispatch has ended, and ends the others", async () => {
    const submission = await open(db, { total: 2 });
    const [gone, live] = [await dispatched([submission, 0, "a"]), await dispatched([submission, 1, "b"])];
    const over = { id: gone, dispatchNumber: 1, status: "dispatched" } as const;
    await postponeJob(db, over, { reason: "stuck", message: "" }, { dispatch: "repeated", refused: true }, NOW, NOW);
    const ids = await finalizeJobs(db, [ended(gone, [submission, "a"]), ended(live, [submission, "b"])], NOW);
    expect(ids).toEqual(new Set([live]));
    expect(await rows("SELECT document_id FROM outcomes")).toEqual([{ document_id: "b" }]);
    expect(await rows(`SELECT status FROM jobs WHERE id = '${gone}'`)).toEqual([{ status: "pending" }]);
    expect(await readSubmission(db, submission)).toMatchObject({ succeeded: 1, jobs: 1, tokens: 100 });
  });

  it("changes nothing when it is repeated", async () => {
    const ending = await manyJobs(3);
    await finalizeJobs(db, ending, NOW);
    const before = await rows("SELECT * FROM submissions");
    expect(await finalizeJobs(db, ending, NOW + 1)).toEqual(new Set());
    expect(await rows("SELECT * FROM submissions")).toEqual(before);
    expect(await rows("SELECT count(*) AS n FROM jobs WHERE status = 'succeeded'")).toEqual([{ n: 3 }]);
  });

  it("refuses a list that names a job twice", async () => {
    const [ending] = await manyJobs(1);
    await expect(finalizeJobs(db, [ending as EndingJob, ending as EndingJob], NOW)).rejects.toThrow(RangeError);
  });

  it("records the children of all of them, which inherit batches and halvings", async () => {
    const submission = await open(db, { total: 3 });
    const first = await dispatched([submission, 0, "a"], [submission, 1, "b"]);
    const second = await dispatched([submission, 2, "c"]);
    await env.DB.exec(`UPDATE jobs SET batches = 3, halvings = 1 WHERE id = '${first}'`);
    const child = (document: string) =>
      ({ id: jobId(), round: 1, members: [[submission, [document]]], dueAt: NOW }) as const;
    const [a, b, c] = [child("a"), { ...child("b"), halvings: 1 }, child("c")];
    const end = { status: "split", outcomes: [], tokens: null, error: { reason: "shrink", message: "no" } } as const;
    await finalizeJobs(
      db,
      [
        { job: { id: first, dispatchNumber: 1, status: "dispatched" }, end: { ...end, children: [a, b] } },
        {
          job: { id: second, dispatchNumber: 1, status: "dispatched" },
          end: { ...end, dispatch: "none", children: [c] },
        },
      ],
      NOW,
    );
    const children =
      "SELECT id, parent_id, document_count, context_count, batches, halvings FROM jobs WHERE parent_id <> ''";
    const counts = { document_count: 1, context_count: 2 };
    expect(await rows(`${children} ORDER BY members`)).toEqual([
      { id: a.id, parent_id: first, ...counts, batches: 3, halvings: 1 },
      { id: b.id, parent_id: first, ...counts, batches: 3, halvings: 2 },
      { id: c.id, parent_id: second, ...counts, batches: 0, halvings: 0 },
    ]);
    expect(
      await rows("SELECT DISTINCT dispatches -> '$[0].error.reason' AS reason FROM jobs WHERE status = 'split'"),
    ).toEqual([{ reason: '"shrink"' }]);
  });

  it("sends three statements for fifty jobs, which read rows in proportion to them", async () => {
    const [few, many] = [await manyJobs(10), await manyJobs(50)];
    const read: number[][] = [];
    for (const ending of [few, many]) {
      const { d1, counts } = countedDatabase(env.DB);
      expect((await finalizeJobs(openDatabase(d1), ending, NOW)).size).toBe(ending.length);
      expect(counts).toHaveLength(3);
      read.push(counts.map((count) => count.read));
    }
    for (const [index, rowsRead] of (read[1] ?? []).entries())
      expect(rowsRead).toBeLessThanOrEqual(5 * (read[0]?.[index] ?? 0) + 20);
  });
});

describe("reading the documents of several jobs", () => {
  it("returns each job's list in the order sent, and none for a dispatch that has ended", async () => {
    const submission = await open(db, { total: 4 });
    const first = await dispatched([submission, 0, "b"], [submission, 1, "a"]);
    const [second, third] = [await dispatched([submission, 2, "c"]), await dispatched([submission, 3, "d"])];
    await env.DB.exec("DELETE FROM documents WHERE document_id = 'b'");
    const lists = await readJobDocuments(db, [
      { id: first, dispatchNumber: 1 },
      { id: second, dispatchNumber: 1 },
      { id: third, dispatchNumber: 2 },
    ]);
    expect([...lists.keys()].toSorted()).toEqual([first, second].toSorted());
    expect(lists.get(first)).toMatchObject([null, { document: "a", index: 1 }]);
    expect(lists.get(second)).toMatchObject([{ document: "c", index: 2, contexts: 2, contextIds: null }]);
  });
});
