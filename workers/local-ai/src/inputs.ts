import { err, isSurelyTooLong, modelNames, ok, utf8Length, type ModelName, type Result } from "@sluice/core";

/** One request of a batch, according to the model's schema. */
export interface ScoringRequest {
  readonly query: string;
  readonly contexts: readonly { readonly text: string }[];
  readonly truncate_inputs?: boolean;
  /** Echoed with the result. */
  readonly external_reference?: string | null;
}

/** A payload must stay under this many bytes, serialized. */
const MAX_PAYLOAD_BYTES = 10_000_000;
/** A UTF-16 unit is at most six bytes of JSON (`\u0000`), and at least one. */
const MAX_BYTES_PER_UNIT = 6;
const PLAIN = /^[ !#-[\]-~]*$/;
/** Maximum bytes of JSON around a request and around a context, in addition to their texts. */
const REQUEST_FRAME_BYTES = 100;
const CONTEXT_FRAME_BYTES = 12;

export function findModel(name: unknown): ModelName | null {
  return modelNames.find((model) => model === name) ?? null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isRequest(value: unknown): value is ScoringRequest {
  return isObject(value) && requestFlaw(value) === null;
}

/** Why `request` is not a valid input for the model, with the location inside it. */
function requestFlaw(request: Record<string, unknown>): string | null {
  const { query, contexts, truncate_inputs: truncate, external_reference: reference } = request;
  const missing = ["query", "contexts"].filter((name) => request[name] === undefined);
  if (missing.length > 0) return `: required properties are missing: ${missing.join(", ")}`;
  if (typeof query !== "string") return "/query: must be a string";
  if (query.length === 0) return "/query: must have at least 1 character";
  if (!Array.isArray(contexts)) return "/contexts: must be an array";
  if (contexts.length === 0) return "/contexts: must hold at least 1 item";
  for (let i = 0; i < contexts.length; i += 1) {
    const context: unknown = contexts[i];
    if (!isObject(context)) return `/contexts/${i}: must be an object`;
    if (typeof context["text"] !== "string") return `/contexts/${i}/text: must be a string`;
    if (context["text"].length === 0) return `/contexts/${i}/text: must have at least 1 character`;
  }
  if (truncate !== undefined && typeof truncate !== "boolean") return "/truncate_inputs: must be a boolean";
  if (reference !== undefined && reference !== null && typeof reference !== "string") {
    return "/external_reference: must be a string";
  }
  return null;
}

function windowFlaw(model: ModelName, request: ScoringRequest): string | null {
  if (request.truncate_inputs === true) return null;
  const detail = "is longer than the model's context window, and truncate_inputs is false";
  if (isSurelyTooLong(model, request.query)) return `/query: ${detail}`;
  const index = request.contexts.findIndex((context) => isSurelyTooLong(model, context.text));
  return index < 0 ? null : `/contexts/${index}/text: ${detail}`;
}

/** Validates one request at `pointer` (a JSON Pointer). The error names its location and contains none of its text. */
export function checkRequest(model: ModelName, value: unknown, pointer: string): Result<ScoringRequest, string> {
  if (!isObject(value)) return err(`Error: ${pointer || "/"}: must be an object`);
  if (!isRequest(value)) return err(`Error: ${pointer}${requestFlaw(value) ?? ""}`);
  const flaw = windowFlaw(model, value);
  return flaw === null ? ok(value) : err(`Error: ${pointer}${flaw}`);
}

/** Validates every request of a batch. One invalid request refuses them all, as the service is assumed to do. */
export function checkRequests(model: ModelName, requests: unknown): Result<readonly ScoringRequest[], string> {
  if (!Array.isArray(requests)) return err("Error: /requests: must be an array");
  if (requests.length === 0) return err("Error: /requests: must hold at least 1 item");
  const accepted: ScoringRequest[] = [];
  for (const request of requests as readonly unknown[]) {
    const checked = checkRequest(model, request, `/requests/${accepted.length}`);
    if (!checked.ok) return checked;
    accepted.push(checked.value);
  }
  return ok(accepted);
}

/** Whether the payload is under the limit. Counts exact bytes only if an estimate is near the limit. */
export function fitsPayload(requests: readonly ScoringRequest[]): boolean {
  let most = 0;
  for (const request of requests) {
    most += REQUEST_FRAME_BYTES + request.contexts.length * CONTEXT_FRAME_BYTES;
    most += mostBytes(request.query) + mostBytes(request.external_reference ?? "");
    for (const context of request.contexts) most += mostBytes(context.text);
  }
  return most < MAX_PAYLOAD_BYTES || utf8Length(JSON.stringify({ requests })) < MAX_PAYLOAD_BYTES;
}

/** Maximum bytes of a text as JSON, without its quotes. */
function mostBytes(text: string): number {
  return PLAIN.test(text) ? text.length : text.length * MAX_BYTES_PER_UNIT;
}
