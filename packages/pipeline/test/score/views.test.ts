import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { rankScores, type RankedScore } from "../../src/score/rank-scores.ts";
import type { SubmissionId } from "@sluice/core";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { openDatabase, readRanked, readScores, type Database } from "@sluice/db";
import { dispatch, jobId, NOW, open, part, record, type TestDocument } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;

const VIEWS = ["scores", "best", "ranked", "failures", "submissions_progress"];

/** Records a submission and ends it with these outcomes for its documents. */
async function end(
  documents: readonly (TestDocument & { readonly id: string })[],
  now: number,
  outcome: (document: TestDocument) => { scores: RankedScore[] } | { code: "model_error"; message: string },
): Promise<SubmissionId> {
  const submission = await open(db, { total: documents.length }, now);
  const job = jobId(now);
  await record(db, job, [[part(submission, 0, documents)]], now);
  await dispatch(db, job, now);
  const outcomes = documents.map((document) => ({ submission, document: document.id, ...outcome(document) }));
  const ended = { status: "succeeded", outcomes, children: [], tokens: null, error: null } as const;
  await finalizeJobs(db, [{ job: { id: job, dispatchNumber: 1, status: "dispatched" }, end: ended }], now);
  return submission;
}

/** Records scores for documents. The last context is the best. */
const score = async (documents: readonly (TestDocument & { readonly id: string })[], now = NOW) =>
  end(documents, now, ({ contexts = ["one", "two"], contextIds = null }) => {
    const scores = contexts.map((_, index) => (index + 1) / 64);
    return { scores: rankScores(scores, contextIds) };
  });

const fail = async (id: string, now: number) => end([{ id }], now, () => ({ code: "model_error", message: "no" }));

const texts = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`);

describe("columns of the views", () => {
  it.each(VIEWS)("of %s have a declared type each", async (view) => {
    const columns = await rows(`SELECT name, type FROM pragma_table_info('${view}')`);
    expect(columns.length).toBeGreaterThan(5);
    expect(columns.filter(({ type }) => type === "")).toEqual([]);
  });

  it.each([
    ["scores", "context_id = 42"],
    ["scores", "document_id = 17 AND context_id IN (42, 43)"],
    ["scores", "context_index = '42'"],
    ["scores", "score = '0.671875'"],
    ["scores", "rank = '1'"],
    ["best", "context_id = 42"],
    ["best", "document_id = 17"],
    ["best", "context_index = '42'"],
    ["best", "score = '0.671875'"],
    ["best", "rank = '1'"],
    ["ranked", "context_id = 42"],
    ["ranked", "context_index = '42'"],
    ["ranked", "score = '0.671875'"],
    ["ranked", "rank = '1'"],
    ["ranked", "query = 5 AND rank = 1"],
    ["ranked", "text = 7"],
    ["failures", "document_id = 18 AND attempts = '1'"],
    ["submissions_progress", "total = '1' AND failed = '1' AND queued = '0' AND processing = '0'"],
  ])("of %s compare according to their type: %s", async (view, where) => {
    await score([{ id: "17", query: "5", contexts: [...texts(42), "7"] }]);
    await fail("18", NOW + 1);
    expect(await rows(`SELECT * FROM ${view} WHERE ${where}`)).toHaveLength(1);
    // Also if the view is computed before the comparison.
    expect(await rows(`WITH v AS MATERIALIZED (SELECT * FROM ${view}) SELECT * FROM v WHERE ${where}`)).toHaveLength(1);
  });

  it("join a table of numbers by context id and by document id", async () => {
    await score([{ id: "17", contexts: texts(43) }]);
    const judged = "WITH judged (document_id, context_id) AS (VALUES (17, 42))";
    const join = "SELECT s.rank FROM judged j JOIN scores s USING (document_id, context_id)";
    expect(await rows(`${judged} ${join}`)).toEqual([{ rank: 1 }]);
  });
});

describe("the view ranked", () => {
  const special = ['one "quoted" \\ back', "null", "two \u00e9 😀\n\u2028", "42", '["a list"]'];

  it("has the rows of scores with query, text and metadata unchanged", async () => {
    await score([
      { id: "a", query: 'why "so"?', contexts: special, contextIds: ["v", "w", "x", "y", "z"] },
      { id: "b", contexts: texts(5) },
    ]);
    await env.DB.prepare(`UPDATE documents SET metadata = '{"n": 1546130668394913823}' WHERE document_id = 'a'`).run();
    const ranked = await readRanked(db, { collection: "default", id: "a" });
    expect(ranked.map(({ query: _, text: __, metadata: ___, ...row }) => row)).toEqual(
      await readScores(db, { collection: "default", id: "a" }),
    );
    expect(ranked.map(({ contextIndex, text }) => [contextIndex, text])).toEqual(
      special.map((text, index) => [index, text]).toReversed(),
    );
    expect(ranked.map(({ contextId }) => contextId)).toEqual(["z", "y", "x", "w", "v"]);
    expect(new Set(ranked.map((row) => row.query))).toEqual(new Set(['why "so"?']));
    expect(new Set(ranked.map((row) => row.metadata))).toEqual(new Set(['{"n": 1546130668394913823}']));
    expect(await readRanked(db, { collection: "default", id: "b" }, 2)).toMatchObject([
      { rank: 1, text: "text 4", metadata: null },
      { rank: 2, text: "text 3", metadata: null },
    ]);
  });

  it("shows the input of the version of its scores, not of a newer one that failed", async () => {
    const submission = await score([{ id: "a", query: "older", contexts: ["old one", "old two"] }]);
    await fail("a", NOW + 1);
    expect(await rows("SELECT query, text, submission_id FROM ranked ORDER BY rank")).toEqual([
      { query: "older", text: "old two", submission_id: submission },
      { query: "older", text: "old one", submission_id: submission },
    ]);
  });

  it.each([
    ["the row of texts is gone", "DELETE FROM contexts", "a query"],
    ["its place among the texts is null", "UPDATE contexts SET texts = json_replace(texts, '$[0]', NULL)", "a query"],
    ["the document's input is gone", "DELETE FROM documents", null],
  ])("keeps its rows with a null text if %s", async (_, statement, query) => {
    await score([{ id: "a" }]);
    await env.DB.prepare(statement).run();
    expect(await rows("SELECT rank, score, query, text FROM ranked ORDER BY rank")).toEqual([
      { rank: 1, score: 2 / 64, query, text: null },
      { rank: 2, score: 1 / 64, query, text: null },
    ]);
  });

  it("reads a document with a thousand contexts in linear time", async () => {
    await score([{ id: "a", contexts: texts(1_000) }]);
    const { results, meta } = await env.DB.prepare(
      "SELECT text FROM ranked WHERE collection = 'default' AND document_id = 'a' ORDER BY rank",
    ).all<{ text: string }>();
    expect(results.map(({ text }) => text)).toEqual(texts(1_000).toReversed());
    expect(meta.rows_read).toBeLessThanOrEqual(6 * 1_000);
  });
});
