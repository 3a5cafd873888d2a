import { JSON_TYPE } from "../http/respond.ts";

let text: Promise<string> | null = null;

/** The OpenAPI document, generated once per isolate when it is first requested. */
export async function openApiResponse(): Promise<Response> {
  // Imported late: it is generated from the routes, and one of them serves it.
  text ??= import("./document.ts").then(({ openApiDocument }) => JSON.stringify(openApiDocument()));
  return new Response(await text, { headers: { "content-type": JSON_TYPE, "cache-control": "public, max-age=300" } });
}
