import type { Stack } from "../runtime/stack.ts";

/** Columns that differ from the template's. All other columns are copied. */
const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
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

/**
 * Copies the only document in the database until there are as many as given, each with its own submission, part, texts
 * and job: as if each had been pushed and delivered alone.
 */
export async function addAlone(stack: Stack, documents: number): Promise<void> {
  const tail = "printf('%012x', i)";
  const like = (column: string) => `substr(${column}, 1, length(${column}) - 12) || ${tail}`;
  const [first] = (
    await stack.sql<{ sub: string; job: string }>("SELECT submission_id AS sub, job_id AS job FROM parts")
  ).results;
  if (first === undefined) throw new Error("no document was recorded");
  for (const [table, changed] of Object.entries(TABLES)) {
    const columns = await stack.sql<{ name: string }>(`SELECT name FROM pragma_table_info('${table}')`);
    const names = columns.results.map(({ name }) => name);
    await stack.sql(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?3),
        names AS (SELECT i, ${like("?1")} AS sub, ${like("?2")} AS job, 'd' || ${tail} AS doc FROM n)
      INSERT INTO ${table} (${names.join(", ")})
      SELECT ${names.map((name) => changed[name] ?? `t.${name}`).join(", ")} FROM names CROSS JOIN ${table} t`,
      first.sub,
      first.job,
      documents,
    );
  }
}
