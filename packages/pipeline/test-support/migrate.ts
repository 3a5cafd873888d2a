import { applyD1Migrations, env, reset } from "cloudflare:test";
import { beforeEach } from "vitest";

/** What the migrations made, as statements that make it at once; `null` until they have run. */
let schema: readonly string[] | null = null;

beforeEach(async () => {
  await reset();
  if (schema === null) {
    await applyD1Migrations(env.DB, env.MIGRATIONS);
    schema = await readSchema();
    return;
  }
  // A quarter of the time that the migrations take one after the other, most of which rebuild tables.
  const applied = JSON.stringify(env.MIGRATIONS.map(({ name }) => name));
  await env.DB.batch([
    ...schema.map((sql) => env.DB.prepare(sql)),
    env.DB.prepare("INSERT INTO d1_migrations (name) SELECT value FROM json_each(?)").bind(applied),
  ]);
});

/** In the order in which it came about. SQLite and the runtime make their own tables themselves. */
async function readSchema(): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
       AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' ORDER BY rowid`,
  ).all<{ sql: string }>();
  return results.map(({ sql }) => sql);
}
