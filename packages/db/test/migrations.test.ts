import { applyD1Migrations, env, reset } from "cloudflare:test";
import { expect, it } from "vitest";
import { openDatabase, readDocument } from "../src/index.ts";
import { jobId, NOW, open } from "./fixtures.ts";

it("moves the contexts of documents that are there to their parts, less those that were deleted", async () => {
  await reset();
  await applyD1Migrations(env.DB, env.MIGRATIONS.slice(0, 1));
  const db = openDatabase(env.DB);
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
  await applyD1Migrations(env.DB, env.MIGRATIONS);
  for (const [id, contexts] of Object.entries(texts)) {
    const row = await readDocument(db, { collection: "default", id }, true);
    expect(row).toMatchObject({ document_id: id, query: "q", contexts: JSON.stringify(contexts) });
  }
  const { results } = await env.DB.prepare("SELECT contexts FROM parts ORDER BY part").all();
  expect(results).toEqual([{ contexts: JSON.stringify({ 0: texts.a, 2: texts.b }) }, { contexts: "{}" }]);
});
