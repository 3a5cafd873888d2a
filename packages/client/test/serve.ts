import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Fetch } from "../src/index.ts";

/** A handler of `node:http` that answers like `fetch`. */
export function serve(fetch: Fetch): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    void answer(fetch, request, response).catch(() => response.destroy());
  };
}

async function answer(fetch: Fetch, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
  const hasBody = request.method !== "GET" && request.method !== "HEAD";
  const init = {
    method: request.method ?? "GET",
    headers,
    ...(hasBody && { body: Readable.toWeb(request) as ReadableStream<Uint8Array>, duplex: "half" as const }),
  };
  const answered = await fetch(`http://${request.headers.host ?? "localhost"}${request.url ?? "/"}`, init);
  response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(await answered.text());
}
