import type { SubmissionId } from "@sluice/core";
import type { Call, ApiContext } from "../context.ts";
import { readBody, typeProblem } from "../http/body.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { JSON_TYPE, NDJSON_TYPES, mediaType } from "../http/respond.ts";
import { expectedBytes } from "../push/bodies-in-work.ts";
import { Fingerprint } from "../push/fingerprint.ts";
import {
  anotherBody,
  keepPushAnswer,
  lookUpKey,
  parseIdempotencyKey,
  stillRunning,
  type PushKey,
} from "../push/idempotency.ts";
import { parsePushQuery, type GivenOptions } from "../push/options.ts";
import { takePush, type IncomingPush, type TakenPush } from "../push/take-push.ts";

const ACCEPTED = 202;

export async function postDocuments(dependencies: ApiContext, call: Call): Promise<Response> {
  const { headers } = call.request;
  const problem = typeProblem(call.request, [JSON_TYPE, ...NDJSON_TYPES]);
  if (problem !== null) return problemResponse(problem);
  const key = parseIdempotencyKey(headers.get("idempotency-key"));
  if (!key.ok) return problemResponse(key.error);
  const query = parsePushQuery(call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const body = readBody(call.request);
  if (!body.ok) return problemResponse(body.error);
  const kind = mediaType(headers.get("content-type") ?? "") === JSON_TYPE ? "json" : "ndjson";
  const incoming: IncomingPush = { apiKey: call.key, kind, query: query.value, body: body.value };
  const pushKey = key.value === null ? null : { apiKey: call.key.name, key: key.value };
  if (kind === "ndjson") return takeIn(dependencies, incoming, pushKey);
  const guarded = dependencies.bodies.guard(dependencies, body.value, expectedBytes(headers));
  try {
    return await takeIn(dependencies, { ...incoming, body: guarded.body }, pushKey);
  } finally {
    guarded.leave();
  }
}

async function takeIn(dependencies: ApiContext, incoming: IncomingPush, key: PushKey | null): Promise<Response> {
  if (key !== null) return pushUnderKey(dependencies, incoming, key);
  const taken = await takePush(dependencies, incoming, null);
  return taken instanceof Response ? taken : acceptedResponse(taken, JSON.stringify(taken.answer));
}

/** A push with an `Idempotency-Key`: what its key stands for decides whether it runs, goes on, or is told what was. */
async function pushUnderKey(dependencies: ApiContext, incoming: IncomingPush, key: PushKey): Promise<Response> {
  const held = await lookUpKey(dependencies, key);
  if (held.kind === "running") return stillRunning(held.retryAfter);
  const fingerprint = new Fingerprint([incoming.kind, ...inOrder(incoming.query)]);
  if (held.kind === "answered") {
    const problem = await fingerprint.readThrough(incoming.body);
    if (problem !== null) return problemResponse(problem);
    if (fingerprint.value !== held.fingerprint) return anotherBody(held.submission);
    return acceptedResponse(held, held.text, { "idempotency-replayed": "true" }, held.status);
  }
  const watched = { ...incoming, body: fingerprint.watch(incoming.body) };
  const brokenOff = held.kind === "broken_off" ? held : null;
  const taken = await takePush(dependencies, watched, { key, fingerprint, brokenOff });
  if (taken instanceof Response) return taken;
  const text = JSON.stringify(taken.answer);
  const { submission, skipped } = taken;
  const kept = { submission, fingerprint: fingerprint.value ?? "", status: ACCEPTED, text };
  await keepPushAnswer(dependencies, key, kept);
  return acceptedResponse(taken, text, skipped === null ? {} : { "idempotency-resumed": String(skipped) });
}

/** Options as given, in one order. */
function inOrder(query: GivenOptions): (string | boolean | null)[] {
  const { collection, model, lane, label, truncate_inputs } = query;
  return [collection ?? null, model ?? null, lane ?? null, label ?? null, truncate_inputs ?? null];
}

function acceptedResponse(
  { submission }: Pick<TakenPush, "submission"> | { readonly submission: SubmissionId },
  text: string,
  headers: Readonly<Record<string, string>> = {},
  status = ACCEPTED,
): Response {
  return new Response(text, {
    status,
    headers: { "content-type": JSON_TYPE, location: `/v1/submissions/${submission}`, ...headers },
  });
}
