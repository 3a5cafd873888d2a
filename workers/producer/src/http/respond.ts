import type { FoundDocuments, Page } from "../shapes/page.ts";

export const JSON_TYPE = "application/json";
/** The media types in use for NDJSON: none was ever registered. */
export const NDJSON_TYPES = ["application/x-ndjson", "application/ndjson", "application/jsonl"] as const;

export function jsonResponse(body: unknown): Response {
  return jsonTextResponse(JSON.stringify(body));
}

/** An answer that is already JSON text. */
export function jsonTextResponse(text: string): Response {
  return new Response(text, { headers: { "content-type": JSON_TYPE } });
}

/** Documents as JSON text, and the ids that were not found. */
export function documentsResponse({ documents, missing }: FoundDocuments): Response {
  return jsonTextResponse(`{"data":[${documents.join(",")}],"missing":${JSON.stringify(missing)}}`);
}

/** Something that was accepted and goes on. */
export function acceptedResponse(body: unknown): Response {
  return new Response(JSON.stringify(body), { status: 202, headers: { "content-type": JSON_TYPE } });
}

/** Success without content. */
export function emptyResponse(): Response {
  return new Response(null, { status: 204 });
}

/** Whether the caller names NDJSON and does not prefer JSON (RFC 9110, 12.5.1). */
export function wantsNdjson(request: Request): boolean {
  const entries = (request.headers.get("accept") ?? "").split(",");
  const weights = new Map(entries.map((entry) => [mediaType(entry), weight(entry)]));
  const ndjson = Math.max(...NDJSON_TYPES.map((type) => weights.get(type) ?? 0));
  return ndjson > 0 && ndjson >= (weights.get(JSON_TYPE) ?? 0);
}

/** The weight of a media type in `Accept`: 0, not acceptable, to 1. */
function weight(entry: string): number {
  return Number(/;\s*q=([01](?:\.\d{0,3})?)\s*(?:;|$)/i.exec(entry)?.[1] ?? 1);
}

/** A media type without its parameters. */
export function mediaType(header: string): string {
  return (header.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/**
 * A page of items that are JSON text: `{ data, next_cursor }`, or one item per line if NDJSON is asked for, with the next
 * page in `Link` (RFC 8288).
 */
export function pageResponse(
  { request, url }: { readonly request: Request; readonly url: URL },
  { data: items, next_cursor: next }: Page<string>,
): Response {
  if (!wantsNdjson(request)) {
    return jsonTextResponse(`{"data":[${items.join(",")}],"next_cursor":${JSON.stringify(next)}}`);
  }
  const headers = new Headers({ "content-type": NDJSON_TYPES[0] });
  if (next !== null) {
    const search = new URLSearchParams(url.searchParams);
    // In the feed, `from` and a cursor exclude each other.
    search.delete("from");
    search.set("cursor", next);
    headers.set("link", `<${url.pathname}?${search.toString()}>; rel="next"`);
  }
  return new Response(items.map((item) => `${item}\n`).join(""), { headers });
}
