import { env } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { rankScores } from "../../src/score/rank-scores.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { openDatabase } from "@sluice/db";
import readme from "../../../db/README.md?raw";
import { dispatch, jobId, NOW, open, part, record } from "../../test-support/fixtures.ts";

/** The SQL blocks of the README by heading, one statement each. */
function recipes(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const section of readme.split(/^### /m).slice(1)) {
    const [title = ""] = section.split("\n", 1);
    const blocks = [...section.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = ""]) => sql);
    found.set(
      title,
      blocks.flatMap((sql) => sql.split(/;\n/).filter((statement) => statement.trim() !== "")),
    );
  }
  return found;
}

const db = openDatabase(env.DB);

/** Records the scores of each document by context; `null` if it fails. */
async function push(collection: string, documents: Record<string, number[] | null>, now: number, label?: string) {
  const ids = Object.keys(documents);
  const submission = await open(db, { collection, label: label ?? null, total: ids.length }, now);
  const job = jobId(now);
  const inputs = ids.map((id) => ({ id, query: `query "${id}"`, contexts: ["zero", "one", "two"] }));
  await record(db, job, [[part(submission, 0, inputs, 0, collection)]], now);
  await dispatch(db, job, now);
  const outcomes = ids.map((document) => {
    const scores = documents[document] ?? null;
    return scores === null
      ? ({ submission, document, code: "model_error", message: "no" } as const)
      : { submission, document, scores: rankScores(scores, null) };
  });
  const end = { status: "succeeded", outcomes, children: [], tokens: null, error: null } as const;
  await finalizeJobs(db, [{ job: { id: job, dispatchNumber: 1, status: "dispatched" }, end }], now);
  return submission;
}

let first: string;
let second: string;
let waiting: string;
beforeEach(async () => {
  first = await push(
    "default",
    { q001: [0.25, 0.5, 0.75], q002: [0.5, 0.1, 0.49], 'q"3': [0.1, 0.2, 0.3], q004: null },
    NOW,
    "a",
  );
  second = await push("default", { q002: [0.5, 0.125, 0.49] }, NOW + 1);
  await push("second-model", { q001: [9, 8, 7], q002: [3, 2, 1] }, NOW + 2);
  await push("another", { q001: [1, 2, 3] }, NOW + 3);
  waiting = await open(db, { total: 2, collection: "another" }, NOW + 4);
  await env.DB.prepare(
    `UPDATE documents SET metadata = '{"source":"faq","n":1546130668394913823}' WHERE collection = 'default' AND document_id = 'q001'`,
  ).run();
});

const line = (text: string) => ({ line: text });

/** The expected result of each recipe for the documents above. */
const EXPECTED: Record<string, () => unknown[]> = {
  "One document, best context first": () => [
    { rank: 1, score: 0.75, context_id: "2", text: "two" },
    { rank: 2, score: 0.5, context_id: "1", text: "one" },
    { rank: 3, score: 0.25, context_id: "0", text: "zero" },
  ],
  "Top K contexts per document": () => [
    { document_id: 'q"3', rank: 1, context_id: "2", score: 0.3 },
    { document_id: 'q"3', rank: 2, context_id: "1", score: 0.2 },
    { document_id: 'q"3', rank: 3, context_id: "0", score: 0.1 },
    { document_id: "q001", rank: 1, context_id: "2", score: 0.75 },
    { document_id: "q001", rank: 2, context_id: "1", score: 0.5 },
    { document_id: "q001", rank: 3, context_id: "0", score: 0.25 },
    { document_id: "q002", rank: 1, context_id: "0", score: 0.5 },
    { document_id: "q002", rank: 2, context_id: "2", score: 0.49 },
    { document_id: "q002", rank: 3, context_id: "1", score: 0.125 },
  ],
  "Low confidence": () => [
    { document_id: 'q"3', context_id: "2", score: 0.3, margin: 0.3 - 0.2 },
    { document_id: "q002", context_id: "0", score: 0.5, margin: 0.5 - 0.49 },
  ],
  "Documents by metadata": () => [{ document_id: "q001", context_id: "2", score: 0.75, source: "faq" }],
  "Join with your own table": () => [
    { document_id: "q001", context_id: "2", relevance: 1, rank: 1, score: 0.75 },
    { document_id: "q002", context_id: "0", relevance: 1, rank: 1, score: 0.5 },
  ],
  "Compare two collections": () => [{ document_id: "q001", a_best: "2", b_best: "0" }],
  "Submissions in progress": () => [
    { submission_id: waiting, status: "queued", total: 2, queued: 2, processing: 0, succeeded: 0, failed: 0 },
  ],
  "Results by submission": () => [
    { submission_id: first, label: "a", succeeded: 3, newest: 2 },
    { submission_id: second, label: null, succeeded: 1, newest: 1 },
  ],
  "Failures by reason": () => [{ code: "model_error", documents: 1, example: "q004" }],
  "Export as NDJSON": () =>
    [
      { id: 'q"3', metadata: "null", scores: ["2", 0.3, "1", 0.2, "0", 0.1] },
      { id: "q001", metadata: '{"source":"faq","n":1546130668394913823}', scores: ["2", 0.75, "1", 0.5, "0", 0.25] },
      { id: "q002", metadata: "null", scores: ["0", 0.5, "2", 0.49, "1", 0.125] },
    ].map(({ id, metadata, scores }) => {
      const texts = ["zero", "one", "two"];
      const ranked = [0, 2, 4].map((at, index) => ({
        rank: index + 1,
        score: scores[at + 1],
        context_id: scores[at],
        text: texts[Number(scores[at])],
      }));
      const head = `{"id":${JSON.stringify(id)},"query":${JSON.stringify(`query "${id}"`)},"metadata":${metadata}`;
      return { document_id: id, line: `${head},"scores":${JSON.stringify(ranked)}}` };
    }),
  "Export as CSV": () =>
    [
      '"q""3","2",1,0.29999999999999999',
      '"q""3","1",2,0.20000000000000001',
      '"q""3","0",3,0.10000000000000001',
      '"q001","2",1,0.75',
      '"q001","1",2,0.5',
      '"q001","0",3,0.25',
      '"q002","0",1,0.5',
      '"q002","2",2,0.48999999999999999',
      '"q002","1",3,0.125',
    ].map(line),
  "Export as a TREC run": () =>
    [
      'q"3 Q0 2 1 1 sluice',
      'q"3 Q0 1 2 0.5 sluice',
      'q"3 Q0 0 3 0.333333333 sluice',
      "q001 Q0 2 1 1 sluice",
      "q001 Q0 1 2 0.5 sluice",
      "q001 Q0 0 3 0.333333333 sluice",
      "q002 Q0 0 1 1 sluice",
      "q002 Q0 2 2 0.5 sluice",
      "q002 Q0 1 3 0.333333333 sluice",
    ].map(line),
};

it("every SQL recipe of the README has an expected result", () => {
  expect([...recipes().keys()]).toEqual(Object.keys(EXPECTED));
  const blocks = [...readme.matchAll(/^```sql$/gm)].length;
  expect(blocks).toBeGreaterThanOrEqual(recipes().size);
  for (const statements of recipes().values()) expect(statements).not.toEqual([]);
});

it.each(Object.entries(EXPECTED))("the recipe returns its expected result: %s", async (title, expected) => {
  let results: unknown[] = [];
  for (const statement of recipes().get(title) ?? []) ({ results } = await env.DB.prepare(statement).all());
  expect(results).toEqual(expected());
});

it("a page of the NDJSON export reads only its own documents", async () => {
  const [page = ""] = recipes().get("Export as NDJSON") ?? [];
  const read = async (more: number) => {
    await push("default", Object.fromEntries(Array.from({ length: more }, (_, n) => [`r${n}`, [1, 2, 3]])), NOW + 9);
    const statement = page.replace("LIMIT 500", "LIMIT 2");
    expect(statement).not.toBe(page);
    const { results, meta } = await env.DB.prepare(statement).all();
    expect(results).toHaveLength(2);
    return meta.rows_read;
  };
  const few = await read(1);
  expect(await read(200)).toBe(few);
});
