import type { IncomingMessage } from "node:http";
import type { Scorer, ScoringRequest } from "./scorer.ts";

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** A Batch API payload is under 10 MB. */
const MAX_BODY_BYTES = 12_000_000;

/**
 * - `POST /batches/{id}` with `{ requests: [{ query, contexts: [{ text }] }] }`: starts scoring; 202
 * - `GET /batches/{id}`: its state; 404 if unknown
 * - `POST /score` with the same body: `{ scores }`, a list for each request
 */
export async function answer(request: IncomingMessage, scorer: Scorer): Promise<Reply> {
  const path = new URL(request.url ?? "/", "http://localhost").pathname;
  const batch = /^\/batches\/([\w-]{1,100})$/.exec(path)?.[1];
  if (request.method === "GET" && batch !== undefined) {
    const progress = scorer.progress(batch);
    return progress === null ? { status: 404, body: { error: "unknown batch" } } : { status: 200, body: progress };
  }
  if (request.method !== "POST" || (batch === undefined && path !== "/score")) {
    return { status: 404, body: { error: "no such route" } };
  }
  const body = await readBody(request);
  if (body === null) return { status: 413, body: { error: `the body must be at most ${MAX_BODY_BYTES} bytes` } };
  const requests = parseRequests(body);
  if (requests === null)
    return { status: 400, body: { error: "the body must be { requests: [{ query, contexts: [{ text }] }] }" } };
  if (batch === undefined) return { status: 200, body: { scores: await scorer.score(requests) } };
  scorer.begin(batch, requests);
  return { status: 202, body: { state: "running" } };
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseRequests(body: string): ScoringRequest[] | null {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  if (!isRecord(value) || !Array.isArray(value["requests"])) return null;
  const requests: readonly unknown[] = value["requests"];
  return requests.every(isScoringRequest) ? [...requests] : null;
}

function isScoringRequest(value: unknown): value is ScoringRequest {
  if (!isRecord(value) || typeof value["query"] !== "string" || !Array.isArray(value["contexts"])) return false;
  const contexts: readonly unknown[] = value["contexts"];
  return contexts.every((context) => isRecord(context) && typeof context["text"] === "string");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
