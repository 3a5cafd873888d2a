export const JSON_TYPE = "application/json";
/** The spellings in use for JSON text, a value a line: the type was never registered. */
export const NDJSON_TYPES = ["application/x-ndjson", "application/ndjson", "application/jsonl"] as const;

export function jsonResponse(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": JSON_TYPE, ...headers } });
}

/** Whether the caller asks for a document a line. */
export function wantsNdjson(request: Request): boolean {
  const accepted = (request.headers.get("accept") ?? "").split(",").map((entry) => mediaType(entry));
  return NDJSON_TYPES.some((type) => accepted.includes(type));
}

/** A media type without its parameters. */
export function mediaType(header: string): string {
  return (header.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/**
 * A page of a list: `{ data, next_cursor }`, or where NDJSON is asked for an item a line, and where to go
 * on in `Link` (RFC 8288).
 */
export function pageResponse(
  { request, url }: { readonly request: Request; readonly url: URL },
  data: readonly unknown[],
  next: string | null,
): Response {
  if (!wantsNdjson(request)) return jsonResponse({ data, next_cursor: next });
  const headers = new Headers({ "content-type": NDJSON_TYPES[0] });
  if (next !== null) {
    const search = new URLSearchParams(url.searchParams);
    // The feed's other way to say where.
    search.delete("from");
    search.set("cursor", next);
    headers.set("link", `<${url.pathname}?${search.toString()}>; rel="next"`);
  }
  return new Response(data.map((item) => `${JSON.stringify(item)}\n`).join(""), { headers });
}
