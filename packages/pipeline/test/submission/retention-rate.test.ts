import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { expect, it } from "vitest";
import { rollUpTotals } from "../../src/submission/sql/roll-up-totals.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { runRetention } from "../../test-support/drive.ts";
import { dispatch, jobId, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";
import { BatchService, testContext } from "../../test-support/index.ts";

/** When texts and history of everything that ended at `NOW` have expired. */
const LATER = NOW + 40 * 86_400_000;
/** With one more of each, a task needs another step. */
const DOCUMENTS = 3_999;

/** Columns that differ between copies of a document: `i` is the number of the copy, `t` the original. */
const COPIED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  submissions: { id: "sub" },
  parts: { submission_id: "sub", job_id: "job", documents: "json_array(doc)" },
  contexts: { id: "t.id + i", parts: "json_array(json_array(sub, 0, 1))" },
  documents: { document_id: "doc", submission_id: "sub", contexts_id: "t.contexts_id + i" },
  outcomes: { document_id: "doc", submission_id: "sub", job_id: "job" },
  jobs: {
    id: "job",
    finalized_sequence: "t.finalized_sequence + i",
    members: "json_array(json_array(sub, json_array(doc)))",
  },
};

/** A document that succeeded, and copies of it, each with its own submission, part, texts and job. */
async function succeededAlone(copies: number): Promise<void> {
  const db = openDatabase(env.DB);
  const submission = await open(db);
  const id = jobId();
  await record(db, id, [[part(submission, 0, [{ id: "d" }])]]);
  await succeed(db, id, await dispatch(db, id));
  const like = (column: string) => `substr(${column}, 1, length(${column}) - 12) || printf('%012x', i)`;
  for (const [table, changed] of Object.entries(COPIED)) {
    const { results } = await env.DB.prepare(`SELECT name FROM pragma_table_info('${table}')`).all<{ name: string }>();
    const names = results.map(({ name }) => name);
    await env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?3),
        names AS (SELECT i, ${like("?1")} AS sub, ${like("?2")} AS job, 'd' || i AS doc FROM n)
      INSERT INTO ${table} (${names.join(", ")})
      SELECT ${names.map((name) => changed[name] ?? `t.${name}`).join(", ")} FROM names CROSS JOIN ${table} t WHERE ?3 > 0`,
    )
      .bind(submission, id, copies)
      .run();
  }
  while (await rollUpTotals(db, LATER));
}

const count = (table: string) => env.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first("n");

it("a step deletes texts, parts and jobs of 3,999 documents pushed alone, in as many statements as of one", async () => {
  const statements: number[] = [];
  for (const copies of [0, DOCUMENTS - 1]) {
    for (const table of [...Object.keys(COPIED), "retention_progress", "folds", "totals"])
      await env.DB.prepare(`DELETE FROM ${table}`).run();
    await succeededAlone(copies);
    expect(await count("jobs")).toBe(copies + 1);
    const { d1, counts } = countedDatabase(env.DB);
    const context = testContext(d1, new BatchService());
    context.clock.now = LATER;
    await runRetention(context);
    expect(await Promise.all(["contexts", "parts", "jobs", "outcomes"].map(count))).toEqual([0, 0, 0, copies + 1]);
    for (const { written } of counts) expect(written).toBeLessThanOrEqual(5_000);
    statements.push(counts.length);
  }
  expect(statements[1]).toBe(statements[0]);
});
