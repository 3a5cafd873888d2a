/** Headers that a page of another origin may send, and those that it may read. */
const ALLOWED_HEADERS = "Authorization, Content-Type, Content-Encoding, Accept, Idempotency-Key";
const EXPOSED_HEADERS = "Location, Retry-After, Link, Idempotency-Replayed, Idempotency-Resumed";
const METHODS = "GET, HEAD, POST, DELETE";
/** How long a browser caches a preflight: the longest that any browser allows. */
const MAX_AGE_SECONDS = "7200";

function isAllowed(origins: readonly string[], origin: string): boolean {
  return origins.includes("*") || origins.includes(origin);
}

/** The answer to a preflight request; `null`: it is not one, or its origin is not allowed. */
export function preflight(request: Request, origins: readonly string[]): Response | null {
  const origin = request.headers.get("origin");
  if (request.method !== "OPTIONS" || origin === null || !request.headers.has("access-control-request-method"))
    return null;
  if (!isAllowed(origins, origin)) return null;
  const headers = {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": ALLOWED_HEADERS,
    "access-control-max-age": MAX_AGE_SECONDS,
  };
  return new Response(null, { status: 204, headers });
}

/** Lets a page of an allowed origin read an answer. */
export function shareWith(origins: readonly string[], request: Request, headers: Headers): void {
  if (origins.length === 0) return;
  headers.append("vary", "Origin");
  const origin = request.headers.get("origin");
  if (origin === null || !isAllowed(origins, origin)) return;
  headers.set("access-control-allow-origin", origin);
  headers.set("access-control-expose-headers", EXPOSED_HEADERS);
}
