import type { DocumentIn, SluiceService } from "@sluice/client/types";

interface Env {
  /** The entrypoint `Sluice` of Sluice's producer: no key, no HTTP. */
  readonly SLUICE: SluiceService;
}

/** Another Worker that pushes over a service binding: `POST /` with a document, `GET /ID` for its state and scores. */
export default {
  async fetch(request, env) {
    if (request.method === "POST") {
      const document = await request.json<DocumentIn>();
      const { submission } = await env.SLUICE.push(document, { collection: "default" });
      return Response.json({ submission: submission.id });
    }
    const id = decodeURIComponent(new URL(request.url).pathname.slice(1));
    const document = await env.SLUICE.document("default", id, { topK: 3 });
    return document === null ? new Response("not recorded yet", { status: 404 }) : Response.json(document);
  },
} satisfies ExportedHandler<Env>;
