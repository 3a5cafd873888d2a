import { applyD1Migrations, env, reset } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import {
  deleteDocument,
  findPosition,
  openDatabase,
  readDocument,
  readStagedPart,
  stagePart,
  type Database,
} from "../src/index.ts";
import { jobId, NOW, open, part, record } from "./fixtures.ts";

let db: Database;
beforeEach(async () => {
  await reset();
  db = openDatabase(env.DB);
});

/** The tables as they are with the first `count` migrations. */
const migrate = async (count: number) => applyD1Migrations(env.DB, env.MIGRATIONS.slice(0, count));
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;

it("0001 moves the contexts of documents that are there to their parts, less those that were deleted", async () => {
  await migrate(1);
  const submission = await open(db, { total: 3 });
  const texts = { a: ['one "quoted"', "two"], b: ["three"] };
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO parts (submission_id, part, job_id, hash, document_count, recorded_at, documents)
       VALUES (?1, 0, ?2, 'hash', 3, ?3, '["a","gone","b"]'), (?1, 1, ?2, 'hash', 1, ?3, '["c"]')`,
    ).bind(submission, jobId(), NOW),
    ...Object.entries(texts).map(([id, contexts], index) =>
      env.DB.prepare(
        `INSERT INTO documents (document_id, collection, submission_id, part, place, payload_bytes, context_count, query, contexts)
         VALUES (?1, 'default', ?2, 0, ?3, 10, 2, 'q', ?4)`,
      ).bind(id, submission, 2 * index, JSON.stringify(contexts)),
    ),
  ]);
  await migrate(2);
  expect(await rows("SELECT contexts FROM parts ORDER BY part")).toEqual([
    { contexts: JSON.stringify({ 0: texts.a, 2: texts.b }) },
    { contexts: "{}" },
  ]);
});

it("0002 moves the contexts of each part into a row of their own, and each document finds its own there", async () => {
  await migrate(2);
  const [first, second] = [await open(db, { total: 4 }), await open(db, { total: 1, collection: "other" }, NOW + 1)];
  const texts = { a: ['one "quoted"', "two \u00e9 😀"], b: ["three"], c: ["four", "five"] };
  const insertPart = `INSERT INTO parts (submission_id, part, job_id, hash, document_count, recorded_at, documents, contexts)
    VALUES (?1, ?2, ?3, 'hash', 1, ?4, ?5, ?6)`;
  const insertDocument = `INSERT INTO documents (document_id, collection, submission_id, part, place, payload_bytes,
      context_count, context_ids, metadata, query)
    VALUES (?1, ?2, ?3, ?4, ?5, 10, 2, '["x"]', '{"m":1}', 'q')`;
  const parts: [string, number, string[], object][] = [
    // The second submission's first, so that rows are not in the order of their keys as they come.
    [second, 0, ["a"], { 0: ["of the other"] }],
    [first, 0, ["a", "gone", "b"], { 4: texts.a, 6: texts.b }],
    [first, 1, ["gone too"], {}],
    [first, 10, ["c"], { 9: texts.c }],
  ];
  const documents: [string, string, string, number, number][] = [
    ["a", "default", first, 0, 4],
    ["b", "default", first, 0, 6],
    ["c", "default", first, 10, 9],
    ["a", "other", second, 0, 0],
  ];
  await env.DB.batch([
    ...parts.map(([submission, number, ids, contexts]) =>
      env.DB.prepare(insertPart).bind(submission, number, jobId(), NOW, JSON.stringify(ids), JSON.stringify(contexts)),
    ),
    ...documents.map((document) => env.DB.prepare(insertDocument).bind(...document)),
  ]);
  await env.DB.prepare("UPDATE submissions SET recorded = total").run();
  await migrate(3);

  for (const [id, contexts] of Object.entries(texts)) {
    const row = await readDocument(db, { collection: "default", id }, true);
    expect(row).toMatchObject({
      submission_id: first,
      query: "q",
      metadata: '{"m":1}',
      contexts: JSON.stringify(contexts),
    });
  }
  const other = await readDocument(db, { collection: "other", id: "a" }, true);
  expect(other).toMatchObject({ submission_id: second, contexts: '["of the other"]' });
  expect(await rows("SELECT texts FROM contexts ORDER BY id")).toEqual(
    [[texts.a, null, texts.b], [null], [texts.c], [["of the other"]]].map((lists) => ({
      texts: JSON.stringify(lists),
    })),
  );
  expect(await rows("SELECT place, context_ids FROM documents WHERE document_id = 'b'")).toEqual([
    { place: 6, context_ids: '["x"]' },
  ]);
  const own = { id: first, collection: "default" };
  expect(await findPosition(db, own, "b")).toEqual({ part: 0, index: 2 });

  // What is recorded from now on lies behind, and what is deleted goes from the row that it was moved to.
  const third = await open(db, {}, NOW + 2);
  await record(db, jobId(), [[part(third, 0, [{ id: "b", contexts: ["newer"] }])]]);
  await deleteDocument(db, { collection: "default", id: "b" }, NOW + 3);
  expect(await rows("SELECT texts FROM contexts ORDER BY id")).toEqual(
    [[texts.a, null, null], [null], [texts.c], [["of the other"]], [null]].map((lists) => ({
      texts: JSON.stringify(lists),
    })),
  );
});

it("0002 keeps the parts that are staged, each once", async () => {
  await migrate(2);
  const submission = await open(db, { total: 2, closed: false });
  const staged = [0, 1].map((number) => part(submission, number, [{}], number));
  for (const [number, { body }] of staged.entries())
    await stagePart(db, submission, { part: number, body, total: 2 }, NOW);
  await migrate(3);
  for (const [number, { body }] of staged.entries()) {
    await stagePart(db, submission, { part: number, body: "another body", total: 2 }, NOW);
    expect(await readStagedPart(db, submission, number)).toBe(body);
  }
  await record(db, jobId(), [staged]);
  expect(await rows("SELECT * FROM staged_parts")).toEqual([]);
});
