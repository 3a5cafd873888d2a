import type { RequestId } from "@sluice/core";

/** A message of the queue `sluice-events`. */
export type EventMessage =
  /** Workers AI reports the end of a batch, so its job can be polled. */
  | { readonly kind: "batch_ended"; readonly requestId: RequestId }
  /** A poller run that used up its budget continues in a fresh invocation. */
  | { readonly kind: "continue_run"; readonly token: string }
  /** A batch was queued, or an event of another kind: nothing to do. */
  | { readonly kind: "irrelevant" }
  | { readonly kind: "unreadable" };

const BATCH_ENDED = new Set<unknown>(["cf.workersAi.model.batch.succeeded", "cf.workersAi.model.batch.failed"]);
/** No id in D1 is longer. */
const MAX_ID_LENGTH = 512;

/** Parses a message body: an event of Workers AI as an event subscription sends it, or one of the poller's own. */
export function readEvent(body: unknown): EventMessage {
  const message = typeof body === "string" ? parseJson(body) : body;
  if (!isRecord(message)) return { kind: "unreadable" };
  if (message["kind"] === "continue_run") {
    const { token } = message;
    return isId(token) ? { kind: "continue_run", token } : { kind: "unreadable" };
  }
  if (typeof message["type"] !== "string") return { kind: "unreadable" };
  if (!BATCH_ENDED.has(message["type"])) return { kind: "irrelevant" };
  const { payload } = message;
  const requestId = isRecord(payload) ? payload["requestId"] : undefined;
  return isId(requestId) ? { kind: "batch_ended", requestId: requestId as RequestId } : { kind: "unreadable" };
}

function isId(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= MAX_ID_LENGTH && !value.includes("\0");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
