import type { DocumentIn, SluiceService } from "@sluice/client/types";

interface Env {
  /** The D1 database that Sluice writes to. */
  readonly DB: D1Database;
  /** The entrypoint `Sluice` of Sluice's producer. */
  readonly SLUICE: SluiceService;
}

const RANKING = `SELECT rank, context_id, score FROM scores
  WHERE collection = 'default' AND document_id = ?1 ORDER BY rank`;

/** A Worker that uses both bindings: `POST /` pushes a document over RPC, `GET /ID` reads its scores with SQL. */
export default {
  async fetch(request, env) {
    if (request.method === "POST") {
      const { submission } = await env.SLUICE.push(await request.json<DocumentIn>(), { collection: "default" });
      return Response.json({ submission: submission.id });
    }
    const id = decodeURIComponent(new URL(request.url).pathname.slice(1));
    const { results } = await env.DB.prepare(RANKING).bind(id).all();
    return Response.json(results);
  },
} satisfies ExportedHandler<Env>;
