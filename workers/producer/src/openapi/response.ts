import { JSON_TYPE } from "../http/respond.ts";

let text: Promise<string> | null = null;

/** The OpenAPI document, made once an isolate and only where it is asked for. */
export async function openApiResponse(): Promise<Response> {
  // Imported late: the routes that it is made from include the one that gives it.
  text ??= import("./document.ts").then(({ openApiDocument }) => JSON.stringify(openApiDocument()));
  return new Response(await text, { headers: { "content-type": JSON_TYPE, "cache-control": "public, max-age=300" } });
}
