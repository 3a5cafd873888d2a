import { applyD1Migrations, env, reset } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { findPosition, readDocument } from "../../src/document/sql/read-document.ts";
import { openDatabase, type Database } from "@sluice/db";
import { readStagedPart, stagePart } from "../../src/message/sql/stage-parts.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { dispatch, jobId, NOW, open as openNow, part, record, succeed } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(async () => {
  await reset();
  db = openDatabase(env.DB);
});

/** The tables after the first `count` migrations. */
const migrate = async (count: number) => applyD1Migrations(env.DB, env.MIGRATIONS.slice(0, count));

/** Runs today's operations with what they need of 0010, and then takes that away again. */
async function withRoom<T>(work: () => Promise<T>): Promise<T> {
  if ((await rows("SELECT 1 FROM pragma_table_info('high_water_marks')")).length > 0) return work();
  const hasTexts = (await rows("SELECT 1 FROM pragma_table_info('contexts')")).length > 0;
  await env.DB.exec(
    "CREATE TABLE high_water_marks (id integer PRIMARY KEY, contexts_id integer, finalized_sequence integer, submission_id text)",
  );
  await env.DB.exec(
    "CREATE TABLE text_expiries (last_id integer PRIMARY KEY NOT NULL, first_id integer, expired_at integer)",
  );
  await env.DB.exec(
    "CREATE TABLE database_size (id integer PRIMARY KEY, bytes integer, level text, limit_bytes integer)",
  );
  await env.DB.exec("CREATE TABLE collection_deletions (collection text PRIMARY KEY, through text)");
  await env.DB.exec("ALTER TABLE submissions ADD forgotten integer DEFAULT 0 NOT NULL");
  if (hasTexts) await env.DB.exec("ALTER TABLE contexts ADD parts text");
  const result = await work();
  await env.DB.exec("DROP TABLE high_water_marks");
  await env.DB.exec("DROP TABLE text_expiries");
  await env.DB.exec("DROP TABLE database_size");
  await env.DB.exec("DROP TABLE collection_deletions");
  await env.DB.exec("ALTER TABLE submissions DROP COLUMN forgotten");
  if (hasTexts) await env.DB.exec("ALTER TABLE contexts DROP COLUMN parts");
  return result;
}

/** Runs today's operations on jobs with the column names from before 0009, and then restores the names. */
async function withTodaysNames<T>(work: () => Promise<T>): Promise<T> {
  await env.DB.exec("ALTER TABLE jobs RENAME COLUMN attempt TO dispatch_number");
  await env.DB.exec("ALTER TABLE jobs RENAME COLUMN attempts TO dispatches");
  const result = await withRoom(work);
  await env.DB.exec("ALTER TABLE jobs RENAME COLUMN dispatch_number TO attempt");
  await env.DB.exec("ALTER TABLE jobs RENAME COLUMN dispatches TO attempts");
  return result;
}

/** Opens a submission in a schema that may lack the column `opened_by`, and then restores the schema. */
async function open(...[target, more, now]: Parameters<typeof openNow>): ReturnType<typeof openNow> {
  const has = await env.DB.prepare("SELECT 1 FROM pragma_table_info('submissions') WHERE name = 'opened_by'").first();
  if (has !== null) return withRoom(() => openNow(target, more, now));
  await env.DB.exec("ALTER TABLE submissions ADD opened_by text");
  const id = await withRoom(() => openNow(target, more, now));
  await env.DB.exec("ALTER TABLE submissions DROP COLUMN opened_by");
  return id;
}
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;

it("0001 moves the contexts of documents to their parts, without deleted ones", async () => {
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

it("0002 moves the contexts of each part into one row, with the right position per document", async () => {
  await migrate(2);
  const [first, second] = [await open(db, { total: 4 }), await open(db, { total: 1, collection: "other" }, NOW + 1)];
  const texts = { a: ['one "quoted"', "two \u00e9 😀"], b: ["three"], c: ["four", "five"] };
  const insertPart = `INSERT INTO parts (submission_id, part, job_id, hash, document_count, recorded_at, documents, contexts)
    VALUES (?1, ?2, ?3, 'hash', 1, ?4, ?5, ?6)`;
  const insertDocument = `INSERT INTO documents (document_id, collection, submission_id, part, place, payload_bytes,
      context_count, context_ids, metadata, query)
    VALUES (?1, ?2, ?3, ?4, ?5, 10, 2, '["x"]', '{"m":1}', 'q')`;
  const parts: [string, number, string[], object][] = [
    // The second submission's rows come first, so that rows are not in the order of their keys.
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
    const row = await withTodaysNames(() => readDocument(db, { collection: "default", id }, true));
    expect(row).toMatchObject({
      submissionId: first,
      query: "q",
      metadata: '{"m":1}',
      contexts: JSON.stringify(contexts),
    });
  }
  const other = await withTodaysNames(() => readDocument(db, { collection: "other", id: "a" }, true));
  expect(other).toMatchObject({ submissionId: second, contexts: '["of the other"]' });
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

  // New records follow the moved rows, and deletions apply to the moved rows.
  const third = await open(db, {}, NOW + 2);
  await withTodaysNames(() => record(db, jobId(), [[part(third, 0, [{ id: "b", contexts: ["newer"] }])]]));
  await withTodaysNames(() => deleteDocument(db, { collection: "default", id: "b" }, NOW + 3));
  expect(await rows("SELECT texts FROM contexts ORDER BY id")).toEqual(
    [[texts.a, null, null], [null], [texts.c], [["of the other"]]].map((lists) => ({
      texts: JSON.stringify(lists),
    })),
  );
});

it("0002 keeps each staged part once", async () => {
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
  await withTodaysNames(() => record(db, jobId(), [staged]));
  expect(await rows("SELECT * FROM staged_parts")).toEqual([]);
});

/** Documents with every kind of end, in several collections, some in two versions. The operations write them. */
async function writeEveryEnd(): Promise<void> {
  const push = async (collection: string, ids: readonly string[], now: number) => {
    const submission = await open(db, { collection, total: ids.length }, now);
    const job = jobId(now);
    const documents = ids.map((id) => ({ id, query: `${collection} ${id}`, contexts: [`${id} 1`, `${id} 2`] }));
    await record(db, job, [[part(submission, 0, documents, 0, collection)]], now);
    return { submission, job };
  };
  const collections = ["zeta", "alpha", "Alpha", "m.1"];
  for (const [index, collection] of collections.entries()) {
    const now = NOW + 10 * index;
    const scored = await push(collection, ["b", "a", "17", "\u00e9"], now);
    await succeed(db, scored.job, await dispatch(db, scored.job, now), now);
    const failed = await push(collection, ["a", "c"], now + 1);
    await dispatch(db, failed.job, now + 1);
    const outcomes = ["a", "c"].map(
      (document) => ({ submission: failed.submission, document, code: "model_error", message: 'it\'s "no"' }) as const,
    );
    const end = { status: "failed", outcomes, children: [], tokens: null, error: null } as const;
    await finalizeJobs(db, [{ job: { id: failed.job, dispatchNumber: 1, status: "dispatched" }, end }], now + 1);
    const again = await push(collection, ["17"], now + 2);
    await succeed(db, again.job, await dispatch(db, again.job, now + 2), now + 2, [0.5, 0.125]);
    const canceled = await push(collection, ["b", "d"], now + 3);
    await cancelSubmission(db, canceled.submission, now + 3);
    const lease = { until: now + 4, token: "t" };
    await startDispatch(db, { id: canceled.job, dispatchNumber: 0, status: "pending" }, lease, now + 4);
    await push(collection, ["open", "a"], now + 5);
  }
}

it("0003 moves every document and outcome to the new key without changing the views", async () => {
  await migrate(3);
  // The operations use these later columns and tables.
  for (const column of ["paused_by text", "batches integer DEFAULT 0", "halvings integer DEFAULT 0"])
    await env.DB.exec(`ALTER TABLE jobs ADD ${column}`);
  await env.DB.exec("CREATE TABLE submit_rates (model text PRIMARY KEY, next_at integer)");
  for (const table of ["retries", "retry_parts"]) await env.DB.exec(`CREATE TABLE ${table} (submission_id text)`);
  await withTodaysNames(writeEveryEnd);
  const tables = (
    await rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'")
  )
    .map(({ name }) => String(name))
    .filter((name) => name !== "d1_migrations" && !name.startsWith("sqlite_"));
  const state = async () => {
    const contents: Record<string, unknown> = {};
    for (const table of tables) {
      const found = await rows(`SELECT * FROM ${table}`);
      contents[table] = found.map((row) => JSON.stringify(Object.entries(row).toSorted())).toSorted();
    }
    for (const view of ["scores", "best"])
      contents[view] = await rows(`SELECT * FROM ${view} ORDER BY collection, document_id, rank`);
    contents["failures"] = await rows("SELECT * FROM failures ORDER BY collection, document_id");
    return contents;
  };
  const before = await state();
  expect(tables).toContain("outcomes");
  expect(before).toMatchObject({ documents: { length: 44 }, outcomes: { length: 36 }, scores: { length: 32 } });
  await migrate(4);
  expect(await state()).toEqual(before);

  for (const table of ["documents", "outcomes"]) {
    expect(await rows(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0 ORDER BY pk`)).toEqual([
      { name: "collection" },
      { name: "document_id" },
      { name: "submission_id" },
    ]);
    const [declared] = await rows(`SELECT sql FROM sqlite_schema WHERE name = '${table}'`);
    expect(declared?.["sql"]).toMatch(/WITHOUT ROWID$/);
  }
  expect(await rows("SELECT tbl_name, sql FROM sqlite_schema WHERE name = 'outcomes_failed'")).toEqual([
    {
      tbl_name: "outcomes",
      sql: "CREATE INDEX `outcomes_failed` ON `outcomes` (`submission_id`,`code`) WHERE status = 'failed'",
    },
  ]);
  expect(await rows("SELECT name FROM sqlite_schema WHERE name LIKE '%new%' OR sql LIKE '%new%'")).toEqual([]);
  const bad = (status: string, code: string | null, scores: string | null) =>
    env.DB.prepare(
      `INSERT INTO outcomes (collection, document_id, submission_id, status, model, attempts, finalized_at, code, scores)
       VALUES ('c', 'd', 's', ?, 'm', 1, 1, ?, ?)`,
    ).bind(status, code, scores);
  await expect(bad("succeeded", null, null).run()).rejects.toThrow("outcomes_scores");
  await expect(bad("failed", null, null).run()).rejects.toThrow("outcomes_code");
});

it("0008 ends retries of canceled submissions, and keeps the others", async () => {
  await migrate(8);
  const [canceled, other] = [await open(db, { total: 1 }), await open(db, { total: 1 }, NOW + 1)];
  for (const submission of [canceled, other]) {
    await env.DB.batch([
      env.DB.prepare("INSERT INTO retries VALUES (?1, '', 't', 1, 1, 0, NULL)").bind(submission),
      env.DB.prepare("INSERT INTO retry_parts VALUES (?1, '', 'job_1', 0, 1)").bind(submission),
    ]);
  }
  await env.DB.prepare("UPDATE submissions SET cancel_requested_at = 1 WHERE id = ?1").bind(canceled).run();
  await migrate(9);
  for (const table of ["retries", "retry_parts"])
    expect(await rows(`SELECT submission_id FROM ${table}`)).toEqual([{ submission_id: other }]);
});

it("0009 renames the dispatch columns, and keeps the dispatches of every job", async () => {
  await migrate(9);
  const dispatchLists = [
    '[{"attempt":1,"started_at":5,"token":"t","error":{"reason":"retry","message":"{\\"attempt\\":1}"}},{"attempt":2,"started_at":6,"token":"u"}]',
    "[]",
  ];
  for (const [index, json] of dispatchLists.entries()) {
    await env.DB.prepare(
      `INSERT INTO jobs (id, model, lane, status, round, attempt, attempts, document_count, context_count, payload_bytes,
         due_at, created_at, members) VALUES (?1, 'm', 'bulk', 'pending', 1, ?2, ?3, 1, 1, 1, 1, 1, '[]')`,
    )
      .bind(`job_${index}`, index, json)
      .run();
  }
  await migrate(10);
  const [first, second] = await rows("SELECT dispatch_number, dispatches FROM jobs ORDER BY id");
  expect(JSON.parse(String(first?.["dispatches"]))).toEqual([
    { number: 1, started_at: 5, token: "t", error: { reason: "retry", message: '{"attempt":1}' } },
    { number: 2, started_at: 6, token: "u" },
  ]);
  expect(second).toEqual({ dispatch_number: 1, dispatches: "[]" });
});
