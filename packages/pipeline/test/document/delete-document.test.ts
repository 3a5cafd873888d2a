import { env } from "cloudflare:test";
import { openDatabase, type Database } from "@sluice/db";
import { beforeEach, expect, it } from "vitest";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { readDocument } from "../../src/document/sql/read-document.ts";
import { recordParts } from "../../src/message/sql/record-parts.ts";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
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
import { rows } from "../../test-support/state.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const named = (id: string) => ({ collection: "default", id });
const own = (id: string) => ({ id, contexts: [`text of ${id}`, "another"] });

async function recorded(ids: readonly string[], now = NOW) {
  const submission = await open(db, { total: ids.length }, now);
  const id = jobId(now);
  await record(db, id, [[part(submission, 0, ids.map(own))]], now);
  return { submission, id };
}

async function textsKept(): Promise<unknown[]> {
  const kept = await rows<{ texts: string }>(env.DB, "SELECT texts FROM contexts ORDER BY id");
  return kept.map(({ texts }) => JSON.parse(texts) as unknown);
}

it("deletes every version, ends an open one as canceled, and drops its answer", async () => {
  const first = await recorded(["a", "b"]);
  await succeed(db, first.id, await dispatch(db, first.id));
  const second = await recorded(["a"], NOW + 1);
  const members = await dispatch(db, second.id);
  expect(await deleteDocument(db, named("a"), NOW + 2)).toBe(2);
  expect(await deleteDocument(db, named("a"), NOW + 2)).toBe(0);
  expect(await readSubmission(db, first.submission)).toMatchObject({
    succeeded: 2,
    canceled: 0,
    forgotten: 1,
    completedAt: NOW,
  });
  expect(await readSubmission(db, second.submission)).toMatchObject({
    canceled: 1,
    forgotten: 1,
    completedAt: NOW + 2,
  });
  await succeed(db, second.id, members);
  expect(await readDocument(db, named("a"), false)).toBeNull();
  expect(await rows(env.DB, "SELECT document_id FROM outcomes")).toEqual([{ document_id: "b" }]);
  expect(await readSubmission(db, second.submission)).toMatchObject({ succeeded: 0, canceled: 1 });
});

it("rewrites a row of texts that other documents share, and deletes it with the last of them", async () => {
  await recorded(["a", "b"]);
  await recorded(["c", "a", "d"], NOW + 1);
  await deleteDocument(db, named("a"), NOW + 2);
  expect(await textsKept()).toEqual([
    [null, own("b").contexts],
    [own("c").contexts, null, own("d").contexts],
  ]);
  for (const id of ["b", "c", "d"])
    expect(await readDocument(db, named(id), true)).toMatchObject({ contexts: JSON.stringify(own(id).contexts) });
  await deleteDocument(db, named("b"), NOW + 3);
  expect(await textsKept()).toEqual([[own("c").contexts, null, own("d").contexts]]);
  for (const id of ["c", "d"]) await deleteDocument(db, named(id), NOW + 3);
  expect(await textsKept()).toEqual([]);
});

it("leaves the texts of another push and collection in a shared row, with and without a list of parts", async () => {
  const [first, second] = [await open(db, { total: 2 }), await open(db, { total: 1, collection: "other" }, NOW + 1)];
  const parts = [part(first, 0, [own("a"), own("b")]), part(second, 0, [own("a")], 0, "other")];
  const job = { id: jobId(), model: MODEL, lane: "bulk", leaseUntil: NOW } as const;
  await recordParts(db, job, transactionOf([parts]), NOW);
  await deleteDocument(db, { collection: "other", id: "a" }, NOW + 2);
  expect(await textsKept()).toEqual([[own("a").contexts, own("b").contexts, null]]);
  // As an older version wrote it.
  await env.DB.exec("UPDATE contexts SET parts = NULL");
  await deleteDocument(db, named("a"), NOW + 2);
  expect(await textsKept()).toEqual([[null, own("b").contexts, null]]);
  expect(await readDocument(db, named("b"), true)).toMatchObject({ contexts: JSON.stringify(own("b").contexts) });
  await deleteDocument(db, named("b"), NOW + 2);
  expect(await textsKept()).toEqual([]);
});

it("never gives the number of a deleted row to new texts", async () => {
  await recorded(["a"]);
  await recorded(["b"], NOW + 1);
  const ids = async () => (await rows<{ id: number }>(env.DB, "SELECT id FROM contexts")).map(({ id }) => id);
  const before = Math.max(...(await ids()));
  for (const id of ["b", "a"]) await deleteDocument(db, named(id), NOW + 2);
  expect(await ids()).toEqual([]);
  await recorded(["c"], NOW + 3);
  expect(await ids()).toEqual([before + 1]);
});

it("leaves no text of a deleted document anywhere, and counts it once when repeated", async () => {
  const { submission } = await recorded(["secret", "b"]);
  for (let time = 0; time < 2; time += 1) await deleteDocument(db, named("secret"), NOW + 2);
  expect(await readSubmission(db, submission)).toMatchObject({ recorded: 2, canceled: 1, forgotten: 1 });
  const tables = await rows<{ name: string }>(
    env.DB,
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'",
  );
  expect(tables.length).toBeGreaterThan(20);
  for (const { name } of tables)
    expect(JSON.stringify(await rows(env.DB, `SELECT * FROM "${name}"`)), name).not.toContain("text of secret");
});

it("reads rows in proportion to the versions and their neighbors in the row, and writes each row once", async () => {
  await recorded(Array.from({ length: 300 }, (_, index) => `n${index}`));
  const count = async (neighbors: number) => {
    await recorded(["a", ...Array.from({ length: neighbors }, (_, index) => `m${index}`)], NOW + neighbors);
    const { d1, counts } = countedDatabase(env.DB);
    await deleteDocument(openDatabase(d1), named("a"), NOW + 2);
    const sum = (what: "read" | "written") => counts.reduce((total, one) => total + one[what], 0);
    return { read: sum("read"), written: sum("written") };
  };
  const few = await count(10);
  const many = await count(110);
  // The submission, the texts and the document: no outcome, and the row of texts stays.
  expect([few.written, many.written]).toEqual([3, 3]);
  expect(few.read).toBeLessThanOrEqual(100);
  expect(many.read - few.read).toBeLessThanOrEqual(5 * 100);
});
