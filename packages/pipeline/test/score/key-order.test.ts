import { applyD1Migrations, env, reset } from "cloudflare:test";
import { expect, it } from "vitest";
import { mintJobId, type JobId, type SubmissionId } from "@sluice/core";
import { continueRetry } from "../../src/submission/continue-retry.ts";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import {
  findPosition,
  listSubmissionDocuments,
  readDocument,
  readDocuments,
  readSubmissionDocuments,
  readVersions,
  weighDocuments,
} from "../../src/document/sql/read-document.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { listFeedEntries } from "../../src/document/sql/read-feed.ts";
import { openDatabase, readBest, readFailure, readRanked, readScores, type Database } from "@sluice/db";
import { readJobContent } from "../../src/job/sql/read-job-documents.ts";
import { requestRetry } from "../../src/submission/sql/request-retry.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { dispatch, jobId, NOW, open, part, record, succeed, type TestDocument } from "../../test-support/fixtures.ts";

interface Pushed {
  readonly submission: SubmissionId;
  readonly job: JobId;
}

async function push(collection: string, documents: readonly TestDocument[], now: number): Promise<Pushed> {
  const db = openDatabase(env.DB);
  const submission = await open(db, { collection, total: documents.length }, now);
  const job = jobId(now);
  await record(db, job, [[part(submission, 0, documents, 0, collection)]], now);
  return { submission, job };
}

async function pushScored(collection: string, documents: readonly TestDocument[], now: number): Promise<Pushed> {
  const pushed = await push(collection, documents, now);
  const db = openDatabase(env.DB);
  await succeed(db, pushed.job, await dispatch(db, pushed.job, now), now);
  return pushed;
}

async function pushFailed(collection: string, documents: readonly { id: string }[], now: number): Promise<Pushed> {
  const pushed = await push(collection, documents, now);
  const db = openDatabase(env.DB);
  await dispatch(db, pushed.job, now);
  const outcomes = documents.map(
    ({ id }) => ({ submission: pushed.submission, document: id, code: "model_error", message: "no" }) as const,
  );
  const end = { status: "failed", outcomes, children: [], tokens: null, error: null } as const;
  await finalizeJobs(db, [{ job: { id: pushed.job, dispatchNumber: 1, status: "dispatched" }, end }], now);
  return pushed;
}

const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `${prefix}${String(index).padStart(3, "0")}` }));

/**
 * Creates two versions of ten documents, the newer failed for the last five, between `others` neighbors of each kind.
 */
async function fill(others: number): Promise<{ scored: Pushed; failed: Pushed }> {
  await reset();
  await applyD1Migrations(env.DB, env.MIGRATIONS);
  if (others > 0) {
    // Before, at and after the ten by collection and by id, and the same ids in other collections.
    for (const [index, collection] of ["a", "middle", "z"].entries())
      await pushScored(collection, [...named("a", others), ...named("z", others)], NOW + index);
    for (const [index, collection] of ["a", "z"].entries())
      await pushFailed(collection, named("d", others), NOW + 10 + index);
  }
  const documents = named("d", 10);
  const scored = await pushScored("middle", documents, NOW + 1_000);
  const failed = await pushFailed("middle", documents.slice(5), NOW + 2_000);
  return { scored, failed };
}

/** The job that the retry creates. */
const AGAIN = mintJobId(NOW + 3_000, new Uint8Array(10));
const DOCUMENT = { collection: "middle", id: "d007" };

type Operation = (db: Database, pushes: { scored: Pushed; failed: Pushed }) => Promise<unknown>;

/** Each operation runs alone on the same state. Those that change it come last. */
const OPERATIONS: readonly (readonly [name: string, run: Operation])[] = [
  ["readScores", async (db) => readScores(db, DOCUMENT)],
  ["readRanked", async (db) => readRanked(db, DOCUMENT)],
  ["readBest", async (db) => readBest(db, "middle", ["d001", "d007", "none"])],
  ["readFailure", async (db) => readFailure(db, DOCUMENT)],
  ["readDocument", async (db) => readDocument(db, DOCUMENT, true)],
  ["readDocuments", async (db) => readDocuments(db, "middle", ["d001", "d007", "none"], true)],
  ["weighDocuments", async (db) => weighDocuments(db, "middle", ["d001", "d007", "none"])],
  ["readVersions", async (db, { failed }) => readVersions(db, [{ ...DOCUMENT, submission: failed.submission }], true)],
  [
    "readSubmissionDocuments",
    async (db, { scored }) =>
      readSubmissionDocuments(db, { id: scored.submission, collection: "middle" }, ["d007", "d001"], true),
  ],
  ["findPosition", async (db, { scored }) => findPosition(db, { id: scored.submission, collection: "middle" }, "d007")],
  [
    "listSubmissionDocuments",
    async (db, { failed }) => listSubmissionDocuments(db, { id: failed.submission, collection: "middle" }, null, 100),
  ],
  ["listFeedEntries", async (db, { scored }) => listFeedEntries(db, [scored.job], null, "middle", 100)],
  [
    "requestRetry",
    async (db, { failed }) => requestRetry(db, { submission: failed.submission, code: "", token: "t" }, NOW + 3_000),
  ],
  [
    "continueRetry",
    async (db, { failed }) => {
      const context = { db, now: () => NOW + 3_000, randomBytes: () => new Uint8Array(10) };
      return continueRetry(context, { submission: failed.submission, code: "" }, 5);
    },
  ],
  ["readJobContent", async (db) => readJobContent(db, { id: AGAIN, dispatchNumber: 0 })],
  [
    "startDispatch",
    async (db) => {
      const lease = { until: NOW + 9_000, token: "t" };
      return startDispatch(db, { id: AGAIN, dispatchNumber: 0, status: "pending" }, lease, NOW + 4_000);
    },
  ],
  ["deleteDocument", async (db) => deleteDocument(db, DOCUMENT, NOW + 5_000)],
];

async function rowsReadBy(others: number): Promise<Map<string, number>> {
  const pushes = await fill(others);
  const { d1, counts } = countedDatabase(env.DB);
  const db = openDatabase(d1);
  const read = new Map<string, number>();
  for (const [name, run] of OPERATIONS) {
    counts.length = 0;
    const answer = await run(db, pushes);
    expect(answer, `${name} finds what it asks for`).not.toSatisfy(isNothing);
    read.set(
      name,
      counts.reduce((sum, count) => sum + count.read, 0),
    );
  }
  return read;
}

function isNothing(answer: unknown): boolean {
  return answer === null || answer === 0 || (Array.isArray(answer) && answer.length === 0);
}

it("reads the same number of rows per document for any number of others", async () => {
  expect(Object.fromEntries(await rowsReadBy(60))).toEqual(Object.fromEntries(await rowsReadBy(0)));
});

const VIEWS = ["scores", "best", "ranked", "failures"];
const QUESTIONS = {
  document: "collection = 'middle' AND document_id = 'd007'",
  list: "collection = 'middle' AND document_id IN ('d002', 'd007')",
  collection: "collection = 'middle'",
};

it.each(VIEWS)("the view %s reads only the requested documents or collection", async (view) => {
  const ask = async (neighbors: number) => {
    await fill(0);
    await pushScored("a", named("d", neighbors), NOW + 4_000);
    await pushFailed("z", named("d", neighbors), NOW + 5_000);
    const answers: Record<string, { rows: number; read: number }> = {};
    for (const [name, where] of Object.entries(QUESTIONS)) {
      const { results, meta } = await env.DB.prepare(`SELECT * FROM ${view} WHERE ${where}`).all();
      answers[name] = { rows: results.length, read: meta.rows_read };
      expect(results.length, name).toBeGreaterThan(0);
    }
    return answers;
  };
  expect(await ask(200)).toEqual(await ask(1));
});
