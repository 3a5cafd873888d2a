import { err, ok, type Result, type SubmissionId } from "@sluice/core";
import type { ApiContext } from "../context.ts";
import type { BodyPiece } from "../http/body.ts";
import type { ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { Fingerprint } from "../push/fingerprint.ts";
import { anotherBody, keepPushAnswer, lookUpKey, stillRunning, type PushKey } from "../push/idempotency.ts";
import type { GivenOptions } from "../push/options.ts";
import { takePush, type IncomingPush } from "../push/take-push.ts";

const ACCEPTED = 202;

export interface PushInput {
  readonly key: ApiKey;
  /** `json`: one document, or many with options, all or nothing. `ndjson`: a document per line, each by itself. */
  readonly kind: "json" | "ndjson";
  readonly query: GivenOptions;
  readonly body: AsyncIterable<BodyPiece>;
  /** Bytes that the body has at most, as its sender says. */
  readonly bytes: number;
  /** Bytes of the body, as its sender says; 0 if it does not. */
  readonly declared: number;
  readonly idempotencyKey: string | null;
}

export interface PushedDocuments {
  readonly submission: SubmissionId;
  /** That of the first answer if this one is replayed. */
  readonly status: number;
  /** The answer as JSON text: a replay repeats it byte for byte. */
  readonly text: string;
  readonly isReplayed: boolean;
  /** Documents that were recorded before an interrupted push was resumed; `null`: no push was resumed. */
  readonly resumed: number | null;
}

/** Sends documents to the Queue as one submission. */
export async function pushDocuments(context: ApiContext, input: PushInput): Promise<Result<PushedDocuments, Problem>> {
  const { key: apiKey, kind, query, body, declared, idempotencyKey } = input;
  const key = idempotencyKey === null ? null : { apiKey: apiKey.name, key: idempotencyKey };
  const incoming = { apiKey, kind, query, body, declared };
  if (kind === "ndjson") return takeIn(context, incoming, key);
  const guarded = context.bodies.guard(context, body, input.bytes);
  try {
    return await takeIn(context, { ...incoming, body: guarded.body }, key);
  } finally {
    guarded.leave();
  }
}

async function takeIn(
  context: ApiContext,
  incoming: IncomingPush,
  key: PushKey | null,
): Promise<Result<PushedDocuments, Problem>> {
  if (key !== null) return pushUnderKey(context, incoming, key);
  const taken = await takePush(context, incoming, null);
  if (!taken.ok) return taken;
  const { submission, answer } = taken.value;
  return ok({ submission, status: ACCEPTED, text: JSON.stringify(answer), isReplayed: false, resumed: null });
}

/** A push with an `Idempotency-Key`: it runs, resumes, or gets the answer of the push that had the key before. */
async function pushUnderKey(
  context: ApiContext,
  incoming: IncomingPush,
  key: PushKey,
): Promise<Result<PushedDocuments, Problem>> {
  const held = await lookUpKey(context, key);
  if (held.kind === "running") return err(stillRunning(held.retryAfter));
  const fingerprint = new Fingerprint([incoming.kind, ...inOrder(incoming.query)]);
  if (held.kind === "answered") {
    const problem = await fingerprint.readThrough(incoming.body);
    if (problem !== null) return err(problem);
    const { submission, status, text } = held;
    if (fingerprint.value !== held.fingerprint) return err(anotherBody(submission));
    return ok({ submission, status, text, isReplayed: true, resumed: null });
  }
  const watched = { ...incoming, body: fingerprint.watch(incoming.body) };
  const interrupted = held.kind === "interrupted" ? held : null;
  const taken = await takePush(context, watched, { key, fingerprint, interrupted });
  if (!taken.ok) return taken;
  const { submission, answer, skipped } = taken.value;
  const text = JSON.stringify(answer);
  const kept = { submission, fingerprint: fingerprint.value ?? "", status: ACCEPTED, text };
  await keepPushAnswer(context, key, kept);
  return ok({ submission, status: ACCEPTED, text, isReplayed: false, resumed: skipped });
}

/** Options as given, in one order. */
function inOrder(query: GivenOptions): (string | boolean | null)[] {
  const { collection, model, lane, label, truncate_inputs } = query;
  return [collection ?? null, model ?? null, lane ?? null, label ?? null, truncate_inputs ?? null];
}
