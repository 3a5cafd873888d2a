import type { Counts } from "./counts.ts";

const PAGE = 2_000;

/** Answers a route under `/bench/`; `null` for any other. None of this is counted. */
export async function benchRoute(request: Request, db: D1Database, take: () => Counts): Promise<Response | null> {
  const url = new URL(request.url);
  switch (url.pathname) {
    case "/bench/counts":
      return Response.json(take());
    case "/bench/clear":
      return clear(db);
    case "/bench/rows":
      return countRows(db, url.searchParams.get("table") ?? "", url.searchParams.get("where") ?? "");
    case "/bench/size":
      return Response.json({ bytes: (await db.prepare("SELECT 1").all()).meta.size_after });
    case "/bench/read-back":
      return readBack(db, url.searchParams.get("table") ?? "");
    default:
      return null;
  }
}

async function clear(db: D1Database): Promise<Response> {
  const { results } = await db
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_cf_*'",
    )
    .all<{ name: string }>();
  await db.batch(results.map(({ name }) => db.prepare(`DELETE FROM "${name}"`)));
  return new Response("cleared");
}

async function countRows(db: D1Database, table: string, where: string): Promise<Response> {
  const row = await db
    .prepare(`SELECT count(*) AS rows FROM "${table}" ${where === "" ? "" : `WHERE ${where}`}`)
    .first();
  return Response.json(row);
}

/** Reads every document's scores once, in pages by key. All arms use it. */
async function readBack(db: D1Database, table: string): Promise<Response> {
  const page = db.prepare(
    `SELECT document_id, scores FROM "${table}" WHERE document_id > ?1 ORDER BY document_id LIMIT ${PAGE}`,
  );
  let after = "";
  let documents = 0;
  let scores = 0;
  for (;;) {
    const { results } = await page.bind(after).all<{ document_id: string; scores: string }>();
    for (const row of results) scores += (JSON.parse(row.scores) as unknown[]).length;
    documents += results.length;
    const last = results.at(-1);
    if (last === undefined || results.length < PAGE) return Response.json({ documents, scores });
    after = last.document_id;
  }
}
