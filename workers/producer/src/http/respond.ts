/** The spellings in use for JSON text, a value a line: the type was never registered. */
export const NDJSON_TYPES = ["application/x-ndjson", "application/ndjson", "application/jsonl"] as const;

export function jsonResponse(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
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
