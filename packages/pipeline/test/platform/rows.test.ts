import { env } from "cloudflare:test";
import { expect, it } from "vitest";
import { claimDueJobs } from "../../src/job/sql/claim-due-jobs.ts";
import { lookUpParts } from "../../src/message/sql/look-up-parts.ts";
import { openDatabase, type Database } from "@sluice/db";
import { readDocument } from "../../src/document/sql/read-document.ts";
import { readJobContent, readJobDocuments } from "../../src/job/sql/read-job-documents.ts";
import { countedDatabase, type StatementCount } from "../../test-support/counted-database.ts";
import { claimLimits, dispatch, jobId, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";

const PART = 250;

/**
 * Processes `count` documents, pushed in parts of 250 and recorded in one job, and returns D1's counts per statement.
 */
async function takeTheWay(count: number): Promise<StatementCount[]> {
  const { d1, counts } = countedDatabase(env.DB);
  const db = openDatabase(d1);
  const submission = await open(db, { total: count });
  const parts = Array.from({ length: count / PART }, (_, number) =>
    part(
      submission,
      number,
      Array.from({ length: PART }, () => ({})),
      number * PART,
    ),
  );
  const id = jobId();
  await lookUpParts(db, parts);
  await record(db, id, [parts.slice(0, parts.length / 2), parts.slice(parts.length / 2)]);
  const members = await dispatch(db, id);
  for (let poll = 1; poll <= 10; poll += 1) await claim(db, NOW + poll * 60_000);
  await readJobDocuments(db, [{ id, dispatchNumber: 1 }]);
  await succeed(db, id, members, NOW + 600_000);
  return counts;
}

const claim = (db: Database, now: number) => claimDueJobs(db, claimLimits(now), now);

/** Rows read by each statement over all its runs, for any number of rows of values. */
function byStatement(counts: readonly StatementCount[]): Map<string, number> {
  const read = new Map<string, number>();
  for (const count of counts) {
    const statement = count.statement.replace(/\(\d+, \?\)(?:, \(\d+, \?\))*/, "(…)");
    read.set(statement, (read.get(statement) ?? 0) + count.read);
  }
  return read;
}

const sum = (counts: readonly StatementCount[], what: "read" | "written") =>
  counts.reduce((total, count) => total + count[what], 0);

it("writes at most 2.1 rows and reads at most 12 per document, including ten polls", async () => {
  const counts = await takeTheWay(5_000);
  const stored = await env.DB.prepare("SELECT count(*) AS n FROM outcomes WHERE status = 'succeeded'").first<{
    n: number;
  }>();
  expect(stored?.n).toBe(5_000);
  expect(sum(counts, "written") / 5_000).toBeLessThanOrEqual(2.1);
  expect(sum(counts, "read") / 5_000).toBeLessThanOrEqual(12);
});

it("reads rows in proportion to the documents in each statement", async () => {
  const small = byStatement(await takeTheWay(1_000));
  const large = byStatement(await takeTheWay(5_000));
  expect([...large.keys()]).toEqual([...small.keys()]);
  for (const [statement, read] of large) {
    // Five times the documents read five times the rows, plus a few constant ones.
    expect(read, statement).toBeLessThanOrEqual(5 * (small.get(statement) ?? 0) + 20);
    expect(read, statement).toBeLessThanOrEqual(3.1 * 5_000);
  }
});

it("loads a job's texts with three rows per document", async () => {
  const { d1, counts } = countedDatabase(env.DB);
  const db = openDatabase(d1);
  const submission = await open(db, { total: 500 });
  const id = jobId();
  await record(db, id, [
    [
      part(
        submission,
        0,
        Array.from({ length: 500 }, () => ({})),
      ),
    ],
  ]);
  counts.length = 0;
  expect(await readJobContent(db, { id, dispatchNumber: 0 })).toHaveLength(500);
  expect(sum(counts, "read")).toBeLessThanOrEqual(3 * 500 + 5);
});

it("finds that no job is due with one query, for any number of ended jobs", async () => {
  const { d1, counts } = countedDatabase(env.DB);
  const db = openDatabase(d1);
  for (let ended = 0; ended < 30; ended += 1) {
    const submission = await open(db, { total: 1 });
    const id = jobId();
    await record(db, id, [[part(submission, 0, [{}])]]);
    await succeed(db, id, await dispatch(db, id));
  }
  counts.length = 0;
  expect(await claim(db, NOW + 3_600_000)).toEqual([]);
  expect(counts).toHaveLength(1);
  expect(counts[0]?.written).toBe(0);
  // Three at each empty end of the index, one for each lane and kind. The 30 ended jobs are not read.
  expect(counts[0]?.read).toBeLessThanOrEqual(12);
});

it("finds a document in scores without reading its neighbors", async () => {
  const { d1, counts } = countedDatabase(env.DB);
  const db = openDatabase(d1);
  const contexts = Array.from({ length: 10 }, (_, index) => `context ${index}`);
  const submission = await open(db, { total: 400 });
  const id = jobId();
  const documents = Array.from({ length: 400 }, (_, index) => ({ id: `d${index}`, contexts }));
  await record(db, id, [[part(submission, 0, documents)]]);
  await succeed(
    db,
    id,
    await dispatch(db, id),
    NOW,
    contexts.map((_, index) => index / 10),
  );
  counts.length = 0;
  const { results } = await d1
    .prepare("SELECT context_id, score, rank FROM scores WHERE collection = ? AND document_id = ? ORDER BY rank")
    .bind("default", "d123")
    .all();
  expect(results).toHaveLength(10);
  expect(sum(counts, "read")).toBeLessThanOrEqual(6 * 10);
  counts.length = 0;
  expect((await readDocument(db, { collection: "default", id: "d123" }, true))?.status).toBe("succeeded");
  expect(sum(counts, "read")).toBeLessThanOrEqual(6 * 10);
});
