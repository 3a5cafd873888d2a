import { env } from "cloudflare:test";
import type { JobId, SubmissionId } from "@sluice/core";
import { openDatabase, type Database } from "@sluice/db";
import { beforeEach, describe, expect, it } from "vitest";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { expireTexts, listTexts } from "../../src/document/sql/expire-texts.ts";
import { readDocument } from "../../src/document/sql/read-document.ts";
import { recordParts } from "../../src/message/sql/record-parts.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { runRetention } from "../../test-support/drive.ts";
import { failJob } from "../../test-support/failed-documents.ts";
import {
  dispatch,
  jobId,
  MODEL,
  NOW,
  open,
  part,
  record,
  succeed,
  transactionOf,
} from "../../test-support/fixtures.ts";
import { BatchService, impatient, testContext, type TestContext } from "../../test-support/index.ts";

const DAY = 86_400_000;
const EXPIRY = NOW + 7 * DAY + 1;

let db: Database;
let context: TestContext;
beforeEach(() => {
  db = openDatabase(env.DB);
  context = testContext(env.DB, new BatchService());
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;

/** Records a submission of one part with these documents in its own row of texts. */
async function recorded(ids: readonly string[], collection = "default"): Promise<[SubmissionId, JobId]> {
  const submission = await open(db, { total: ids.length, collection });
  const id = jobId();
  const documents = ids.map((name) => ({ id: name, contexts: [`of ${name}`] }));
  await record(db, id, [[part(submission, 0, documents, 0, collection)]]);
  return [submission, id];
}

async function succeeded(ids: readonly string[], collection = "default"): Promise<SubmissionId> {
  const [submission, id] = await recorded(ids, collection);
  await succeed(db, id, await dispatch(db, id), NOW, [0.5]);
  return submission;
}

async function retainAt(now: number, level: "normal" | "pressure" = "normal"): Promise<void> {
  context.clock.now = now;
  await runRetention(context, level);
}

const texts = () => rows("SELECT id, texts FROM contexts ORDER BY id");

describe("texts of documents that ended", () => {
  it("expire after seven days, and say since when", async () => {
    await succeeded(["a", "b"]);
    await retainAt(NOW + 7 * DAY);
    expect(await texts()).toEqual([{ id: 1, texts: '[["of a"],["of b"]]' }]);
    expect(await readDocument(db, { collection: "default", id: "a" }, true)).toMatchObject({
      contexts: '["of a"]',
      contextsExpiredAt: null,
    });

    await retainAt(EXPIRY);
    expect(await texts()).toEqual([]);
    expect(await readDocument(db, { collection: "default", id: "a" }, true)).toMatchObject({
      contexts: null,
      contextsExpiredAt: EXPIRY,
      scores: "[[0,0.5]]",
    });
    expect(await rows("SELECT document_id, text, score FROM ranked ORDER BY document_id")).toEqual([
      { document_id: "a", text: null, score: 0.5 },
      { document_id: "b", text: null, score: 0.5 },
    ]);
  });

  it("leave a row whose documents have not all ended", async () => {
    const [submission, job] = await recorded(["a", "b"]);
    await dispatch(db, job);
    await retainAt(EXPIRY);
    expect(await texts()).toHaveLength(1);
    await succeed(db, job, [[submission, ["a", "b"]]], EXPIRY, [0.5]);
    // Found again by the next pass, seven days after its end.
    await retainAt(EXPIRY + 7 * DAY);
    expect(await texts()).toHaveLength(1);
    await retainAt(EXPIRY + 8 * DAY);
    expect(await texts()).toEqual([]);
  });

  it("leave the texts of failed documents, and say since when the others are gone", async () => {
    const [submission, job] = await recorded(["a", "b", "c"]);
    const members = await dispatch(db, job);
    await deleteDocument(db, { collection: "default", id: "c" }, NOW);
    const outcomes = [
      { submission, document: "a", scores: [[0, 0.5]] },
      { submission, document: "b", code: "model_error", message: "no" },
    ] as const;
    const end = { status: "succeeded", outcomes, children: [], tokens: null, error: null } as const;
    await finalizeJobs(db, [{ job: { id: job, dispatchNumber: 1, status: "dispatched" }, end }], NOW);
    expect(members).toEqual([[submission, ["a", "b", "c"]]]);

    await retainAt(EXPIRY);
    expect(await rows("SELECT texts, parts FROM contexts")).toEqual([
      { texts: `[${EXPIRY},["of b"],null]`, parts: `[["${submission}",0,1]]` },
    ]);
    expect(await readDocument(db, { collection: "default", id: "a" }, true)).toMatchObject({
      contexts: String(EXPIRY),
    });
    expect(await rows("SELECT document_id, text FROM ranked")).toEqual([{ document_id: "a", text: null }]);
    const { d1, counts } = countedDatabase(env.DB);
    context = testContext(d1, new BatchService());
    await retainAt(EXPIRY + DAY);
    // A later pass moves, and writes nothing else.
    const writing = counts.filter(({ written }) => written > 0);
    expect(new Set(writing.map(({ statement }) => statement.slice(0, 30)))).toEqual(
      new Set(["INSERT INTO retention_progress"]),
    );

    await deleteDocument(db, { collection: "default", id: "b" }, NOW);
    await retainAt(EXPIRY + 2 * DAY);
    expect(await texts()).toEqual([]);
  });

  it("of rows between kept ones expire as ranges that tell each document its time", async () => {
    for (const id of ["a", "b"]) await succeeded([id]);
    const [failed, job] = await recorded(["c"]);
    await failJob(db, job, failed, ["c"]);
    await succeeded(["d"]);
    await retainAt(EXPIRY);
    expect(await rows("SELECT * FROM text_expiries ORDER BY last_id")).toEqual([
      { last_id: 2, first_id: 1, expired_at: EXPIRY },
      { last_id: 4, first_id: 4, expired_at: EXPIRY },
    ]);
    await retainAt(EXPIRY + DAY, "pressure");
    expect(await texts()).toEqual([]);
    const times = await Promise.all(
      ["a", "b", "c", "d"].map((id) => readDocument(db, { collection: "default", id }, true)),
    );
    expect(times.map((row) => row?.contextsExpiredAt)).toEqual([EXPIRY, EXPIRY, EXPIRY + DAY, EXPIRY]);
  });

  it("expire at any age under pressure, those of failed documents last", async () => {
    await succeeded(["a"]);
    const [failed, job] = await recorded(["b"]);
    await failJob(db, job, failed, ["b"]);
    await recorded(["c"]);
    await env.DB.prepare(
      "INSERT INTO retries (submission_id, code, token, requested_at, documents) VALUES (?, '', 't', 1, 1)",
    )
      .bind(failed)
      .run();
    await retainAt(NOW + 1, "pressure");
    expect(await texts()).toEqual([
      { id: 2, texts: '[["of b"]]' },
      { id: 3, texts: '[["of c"]]' },
    ]);
    await env.DB.prepare("DELETE FROM retries").run();
    await retainAt(NOW + DAY, "pressure");
    expect(await texts()).toEqual([{ id: 3, texts: '[["of c"]]' }]);
  });

  it("never give their id to new texts, which an old document would show", async () => {
    await succeeded(["a"]);
    await retainAt(EXPIRY);
    await succeeded(["b"]);
    expect(await rows("SELECT id FROM contexts")).toEqual([{ id: 2 }]);
    expect(await readDocument(db, { collection: "default", id: "a" }, true)).toMatchObject({ contexts: null });
  });

  it("cost at most 0.02 rows written per document, and as many statements for any number", async () => {
    const statements: number[] = [];
    for (const parts of [20, 100]) {
      const submission = await open(db, { total: parts * 80 });
      const id = jobId();
      const documents = Array.from({ length: 80 }, () => ({}));
      await record(db, id, [Array.from({ length: parts }, (_, n) => part(submission, n, documents, n * 80))]);
      await succeed(db, id, await dispatch(db, id));
      const { d1, counts } = countedDatabase(env.DB);
      context = testContext(d1, new BatchService());
      await env.DB.prepare("DELETE FROM retention_progress").run();
      await retainAt(EXPIRY);
      expect(await texts()).toEqual([]);
      const sum = (what: "read" | "written") => counts.reduce((total, count) => total + count[what], 0);
      expect(sum("written") / (parts * 80)).toBeLessThanOrEqual(0.02);
      expect(sum("read") / (parts * 80)).toBeLessThanOrEqual(7);
      statements.push(counts.length);
    }
    expect(statements[1]).toBe(statements[0]);
  });
});

describe("rows of texts from an older version", () => {
  const unlist = () => env.DB.prepare("UPDATE contexts SET parts = NULL").run();

  it("expire once every part is listed, also if parts share a row", async () => {
    const submissions = [await open(db), await open(db), await open(db)];
    const id = jobId();
    const parts = submissions.map((submission, index) => part(submission, 0, [{ id: `d${index}` }]));
    const [first, second, third] = parts as [(typeof parts)[0], (typeof parts)[0], (typeof parts)[0]];
    await recordParts(
      db,
      { id, model: MODEL, lane: "bulk", leaseUntil: NOW + 60_000 },
      transactionOf([[first, second], [third]]),
      NOW,
    );
    const listed = await rows("SELECT id, parts FROM contexts");
    await unlist();
    await succeed(db, id, await dispatch(db, id));
    context.clock.now = NOW + DAY;
    await runRetention(context);
    expect(await rows("SELECT id, parts FROM contexts")).toEqual(listed);
    await retainAt(EXPIRY);
    expect(await texts()).toEqual([]);
  });

  it("do not expire while a pass that lists parts is in progress", async () => {
    await succeeded(["a"]);
    await env.DB.prepare("INSERT INTO retention_progress (task, cursor, started_at) VALUES ('list_parts', ?, 1)")
      .bind(JSON.stringify({ through: 1, after: null }))
      .run();
    const move = { task: "texts", cursor: "1", isFirst: true, isLast: true } as const;
    await expireTexts(db, { deleted: [1], rewritten: [1], before: EXPIRY, failedToo: true }, move, EXPIRY);
    expect(await texts()).toHaveLength(1);
  });

  it("without any document left are deleted", async () => {
    await succeeded(["a"]);
    await deleteDocument(db, { collection: "default", id: "a" }, NOW);
    await env.DB.prepare("INSERT INTO contexts (id, texts) VALUES (7, '[null]')").run();
    await retainAt(NOW + 1);
    expect(await rows("SELECT id FROM contexts WHERE id = 7")).toEqual([]);
    await succeeded(["b"]);
    expect(await rows("SELECT max(id) AS id FROM contexts")).toEqual([{ id: 8 }]);
  });
});

describe("a step that is late", () => {
  it("keeps a row whose document was queued again since", async () => {
    const [submission, job] = await recorded(["a"]);
    await failJob(db, job, submission, ["a"]);
    const found = await listTexts(db, 0, EXPIRY, 10);
    expect(found).toMatchObject({ rows: [{ id: 1, open: 0, failed: 1, retried: 0 }], isEnd: true });
    await env.DB.prepare("DELETE FROM outcomes").run();
    const move = { task: "texts", cursor: "1", isFirst: true, isLast: true } as const;
    await expireTexts(db, { deleted: [1], rewritten: [1], before: EXPIRY, failedToo: true }, move, EXPIRY);
    expect(await texts()).toEqual([{ id: 1, texts: '[["of a"]]' }]);
    expect(await rows("SELECT count(*) AS n FROM text_expiries")).toEqual([{ n: 0 }]);
  });

  it("repeated after an error that hid its commit changes nothing", async () => {
    await succeeded(["a"]);
    await succeeded(["b"]);
    const move = { task: "texts", cursor: "2", isFirst: true, isLast: true } as const;
    for (const now of [EXPIRY, EXPIRY + 1])
      await expireTexts(
        openDatabase(env.DB, impatient),
        { deleted: [1, 2], rewritten: [], before: EXPIRY, failedToo: false },
        move,
        now,
      );
    expect(await rows("SELECT * FROM text_expiries")).toEqual([{ last_id: 2, first_id: 1, expired_at: EXPIRY }]);
    expect(await rows("SELECT deleted, cursor FROM retention_progress")).toEqual([{ deleted: 2, cursor: "2" }]);
  });
});
