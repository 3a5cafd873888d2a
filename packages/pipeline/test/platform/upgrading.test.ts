import { applyD1Migrations, env, reset } from "cloudflare:test";
import { expect } from "vitest";
import type { SubmissionId } from "@sluice/core";
import { openDatabase } from "@sluice/db";
import { readDocument } from "../../src/document/sql/read-document.ts";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { runUntilDone } from "../../test-support/drive.ts";
import { context, it } from "../../test-support/pipeline-test.ts";
import { MODEL } from "../../test-support/fixtures.ts";
import { NOW, rows } from "../../test-support/index.ts";

/** The number of migrations of the first release. */
const FIRST = 1;

/** A document as it was pushed, and how its version ended before the upgrade; `null` if it was waiting. */
interface OldDocument {
  readonly id: string;
  readonly contexts: readonly string[];
  readonly end: "succeeded" | "failed" | "canceled" | null;
}

const DOCUMENTS: readonly OldDocument[] = [
  { id: "scored", contexts: ['one "quoted"', "two é 😀"], end: "succeeded" },
  { id: "refused", contexts: ["three"], end: "failed" },
  { id: "stopped", contexts: ["four"], end: "canceled" },
  { id: "waiting", contexts: ["five", "six"], end: null },
];

const collectionOf = (level: number) => `after-${level}`;
const submissionOf = (level: number) => `sub_0198a000-00${String(level).padStart(2, "0")}-7000-8000-000000000000`;
const jobOf = (level: number, kind: string) => `job_0198a000-00${String(level).padStart(2, "0")}-7000-8000-${kind}`;

/** Inserts a row with the columns that the table has now: earlier schemas lack some. */
async function insert(table: string, values: Readonly<Record<string, string | number | null>>): Promise<void> {
  const existing = await rows(env.DB, `SELECT name FROM pragma_table_info('${table}')`);
  const columns = existing.map(({ name }) => String(name)).filter((name) => name in values);
  await env.DB.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`)
    .bind(...columns.map((column) => values[column] ?? null))
    .run();
}

/** Writes one submission in the schema after `level` migrations, as the release of that schema would have. */
async function writeState(level: number): Promise<void> {
  const [submission, collection] = [submissionOf(level), collectionOf(level)];
  const now = NOW + level;
  const ids = JSON.stringify(DOCUMENTS.map(({ id }) => id));
  await insert("submissions", {
    id: submission,
    collection,
    model: MODEL,
    lane: "bulk",
    truncate_inputs: 1,
    total: 4,
    recorded: 4,
    succeeded: 1,
    failed: 1,
    canceled: 1,
    created_at: now,
    active_at: now,
    closed_at: now,
  });
  const job = { model: MODEL, lane: "bulk", round: 1, context_count: 2, payload_bytes: 100, created_at: now };
  const ended = jobOf(level, "0000000000aa");
  const dispatch = `"started_at":${now},"token":"t"`;
  await insert("jobs", {
    ...job,
    id: ended,
    status: "succeeded",
    attempt: 1,
    dispatch_number: 1,
    document_count: 2,
    request_id: "request",
    dispatched_at: now,
    ended_at: now,
    tokens: 10,
    finalized_sequence: level,
    attempts: `[{"attempt":1,${dispatch}}]`,
    dispatches: `[{"number":1,${dispatch}}]`,
    members: JSON.stringify([[submission, ["scored", "refused"]]]),
  });
  await insert("jobs", {
    ...job,
    id: jobOf(level, "0000000000bb"),
    status: "pending",
    document_count: 1,
    due_at: now,
    attempts: "[]",
    dispatches: "[]",
    members: JSON.stringify([[submission, ["waiting"]]]),
  });
  // Texts were in the rows of documents, then of parts, then in rows of their own.
  const texts = DOCUMENTS.map(({ contexts }) => contexts);
  await insert("parts", {
    submission_id: submission,
    part: 0,
    job_id: ended,
    hash: "hash",
    document_count: 4,
    recorded_at: now,
    documents: ids,
    contexts: JSON.stringify(Object.fromEntries(texts.entries())),
  });
  const hasRows = (await rows(env.DB, "SELECT 1 FROM sqlite_schema WHERE name = 'contexts'")).length > 0;
  const parts = JSON.stringify([[submission, 0]]);
  if (hasRows) await insert("contexts", { id: 1_000 + level, texts: JSON.stringify(texts), parts });
  for (const [index, { id, contexts, end }] of DOCUMENTS.entries()) {
    const key = { collection, document_id: id, submission_id: submission };
    await insert("documents", {
      ...key,
      part: 0,
      place: index,
      contexts_id: 1_000 + level,
      contexts_at: index,
      payload_bytes: 50,
      context_count: contexts.length,
      query: `about ${id}`,
      contexts: JSON.stringify(contexts),
    });
    if (end === null) continue;
    await insert("outcomes", {
      ...key,
      status: end,
      model: MODEL,
      attempts: 1,
      job_id: end === "canceled" ? null : ended,
      code: end === "failed" ? "model_error" : null,
      message: end === "failed" ? "no" : null,
      finalized_at: now,
      scores: end === "succeeded" ? "[[1,0.75],[0,0.25]]" : null,
    });
  }
}

it("reads, counts and finishes what every earlier schema holds, after all later migrations", async () => {
  await reset();
  for (let level = FIRST; level <= env.MIGRATIONS.length; level += 1) {
    await applyD1Migrations(env.DB, env.MIGRATIONS.slice(0, level));
    await writeState(level);
  }
  const db = openDatabase(env.DB);
  await runUntilDone(context);
  for (let level = FIRST; level <= env.MIGRATIONS.length; level += 1) {
    const [submission, collection] = [submissionOf(level) as SubmissionId, collectionOf(level)];
    for (const { id, contexts, end } of DOCUMENTS) {
      const row = await readDocument(db, { collection, id }, true);
      expect(row, `${id} ${collection}`).toMatchObject({
        submissionId: submission,
        query: `about ${id}`,
        contexts: JSON.stringify(contexts),
        status: end ?? "succeeded",
        rootJobId: jobOf(level, "0000000000aa"),
      });
    }
    expect(await readSubmission(db, submission), collection).toMatchObject({
      total: 4,
      recorded: 4,
      succeeded: 2,
      failed: 1,
      canceled: 1,
      completedAt: expect.any(Number),
    });
    expect(
      await rows(env.DB, `SELECT document_id, rank, context_index FROM scores WHERE collection = '${collection}'`),
    ).toEqual([
      { document_id: "scored", rank: 1, context_index: 1 },
      { document_id: "scored", rank: 2, context_index: 0 },
      { document_id: "waiting", rank: 1, context_index: expect.any(Number) },
      { document_id: "waiting", rank: 2, context_index: expect.any(Number) },
    ]);
  }
  // The jobs that ended after the upgrade follow the others in the feed.
  const waiting = await readDocument(db, { collection: collectionOf(FIRST), id: "waiting" }, false);
  const [last] = await rows(env.DB, "SELECT id, max(finalized_sequence) AS sequence FROM jobs");
  expect(last).toEqual({ id: waiting?.outcomeJobId, sequence: expect.any(Number) });
  expect(last?.["sequence"]).toBeGreaterThan(env.MIGRATIONS.length);
});
