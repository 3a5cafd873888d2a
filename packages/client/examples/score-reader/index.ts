import { openDatabase, readBest, readScores } from "@sluice/db";

interface Env {
  /** The same D1 database that Sluice writes to. */
  readonly DB: D1Database;
}

/** Another Worker that reads scores from D1: `GET /?id=a&id=b` for best contexts, `GET /a` for a full ranking. */
export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const db = openDatabase(env.DB);
    const id = decodeURIComponent(url.pathname.slice(1));
    if (id !== "") return Response.json(await readScores(db, { collection: "default", id }));
    return Response.json(await readBest(db, "default", url.searchParams.getAll("id")));
  },
} satisfies ExportedHandler<Env>;
