import { err, nameDocument, ok, type Result, type SubmissionId } from "@sluice/core";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import { isSubmissionDeleted } from "@sluice/pipeline/submission/sql/request-deletion.ts";
import { releasePush } from "@sluice/pipeline/submission/sql/take-over-push.ts";
import type { ApiContext } from "../context.ts";
import { EMPTY_BODY, type BodyPiece } from "../http/body.ts";
import { allowsCollection, type ApiKey } from "../http/keys.ts";
import type { LineProblem, Problem } from "../http/problems.ts";
import { MAX_NAMED, type AcceptedShape } from "../shapes/push.ts";
import type { Fingerprint } from "./fingerprint.ts";
import type { HeldDocuments } from "./held-documents.ts";
import {
  RETRY_AFTER_SECONDS,
  anotherBody,
  collectionDeleted,
  stillRunning,
  takeOver,
  type KeyStatus,
  type PushKey,
} from "./idempotency.ts";
import { readJsonPush } from "./json-push.ts";
import { NdjsonPush } from "./ndjson-push.ts";
import { fillOptions, type GivenOptions, type PushOptions } from "./options.ts";
import { acceptedAnswer, nothingAcceptable, notAccepted } from "./push-answer.ts";
import { push, type KeyedPush, type PushEnd } from "./push.ts";

/** A push as it arrives. */
export interface IncomingPush {
  readonly apiKey: ApiKey;
  readonly kind: "json" | "ndjson";
  /** The options in the query string. */
  readonly query: GivenOptions;
  readonly body: AsyncIterable<BodyPiece>;
  /** Bytes of the body, as its sender says; 0 if it does not. */
  readonly declared: number;
}

/** Its `Idempotency-Key`, if that is new or of an interrupted push. */
export interface IncomingKey {
  readonly key: PushKey;
  readonly fingerprint: Fingerprint;
  readonly interrupted: Extract<KeyStatus, { kind: "interrupted" }> | null;
}

export interface TakenPush {
  readonly submission: SubmissionId;
  readonly answer: AcceptedShape;
  /** Documents that were recorded before; `null`: the push resumed no other. */
  readonly skipped: number | null;
}

/** Reads, validates and sends a push. */
export function takePush(
  context: ApiContext,
  incoming: IncomingPush,
  key: IncomingKey | null,
): Promise<Result<TakenPush, Problem>> {
  return incoming.kind === "ndjson" ? takeNdjson(context, incoming, key) : takeJson(context, incoming, key);
}

async function takeJson(
  context: ApiContext,
  incoming: IncomingPush,
  key: IncomingKey | null,
): Promise<Result<TakenPush, Problem>> {
  const read = await readJsonPush(incoming.body, incoming.query);
  if (!read.ok) return read;
  const { options, documents } = read.value;
  if (!allowsCollection(incoming.apiKey, options.collection)) return err(notThisCollection(options.collection));
  const known = key?.interrupted?.fingerprint ?? null;
  if (known !== null && key?.fingerprint.value !== known) return err(anotherBody(key?.interrupted?.submission ?? null));
  const keyed = await keyedPush(context, key, options);
  if (!keyed.ok) return keyed;
  const nameAll = documents.count <= MAX_NAMED ? namesOf(documents) : null;
  const { bytes } = documents;
  const end = await push(context, options, documents.take(), keyed.value, bytes);
  if (end.kind !== "sent") return err(await problemOf(context, end));
  const names = nameAll === null ? null : nameAll(end.submission);
  return taken(
    end,
    keyed.value,
    await acceptedAnswer(context, options, end, { resumed: isResumed(keyed.value), names, ...NONE_REJECTED }),
  );
}

async function takeNdjson(
  context: ApiContext,
  incoming: IncomingPush,
  key: IncomingKey | null,
): Promise<Result<TakenPush, Problem>> {
  const options = fillOptions(incoming.query, null);
  if (!allowsCollection(incoming.apiKey, options.collection)) return err(notThisCollection(options.collection));
  const keyed = await keyedPush(context, key, options);
  if (!keyed.ok) return keyed;
  const lines = new NdjsonPush(options, new DataView(context.random(4).buffer).getUint32(0));
  const end = await push(context, options, lines.read(incoming.body), keyed.value, incoming.declared);
  const { rejectedCount, rejected } = lines;
  if (end.kind === "nothing") {
    return err(lines.lines === 0 ? EMPTY_BODY : nothingAcceptable(rejectedCount, rejected));
  }
  if (end.kind !== "sent") return err(await problemOf(context, end));
  const given = { resumed: isResumed(keyed.value), names: null, rejectedCount, rejected };
  return taken(end, keyed.value, await acceptedAnswer(context, options, end, given));
}

async function problemOf(context: ApiContext, end: Exclude<PushEnd, { kind: "sent" }>): Promise<Problem> {
  const isInterrupted = end.kind === "taken" || end.kind === "unsent";
  if (isInterrupted && end.submission !== null && (await isDeletedNow(context, end.submission)))
    return collectionDeleted(end.submission);
  return notAccepted(end);
}

/** Whether a push ended because its collection was deleted. If D1 is unavailable, that is the problem. */
async function isDeletedNow({ db, log }: ApiContext, submission: SubmissionId): Promise<boolean> {
  try {
    return await isSubmissionDeleted(db, submission);
  } catch (error) {
    log({ event: "deletion_not_read", submission, ...describeError(error) });
    return false;
  }
}

const NONE_REJECTED = { rejectedCount: 0, rejected: [] as readonly LineProblem[] };

function taken(
  end: Extract<PushEnd, { kind: "sent" }>,
  keyed: KeyedPush | null,
  answer: AcceptedShape,
): Result<TakenPush, never> {
  return ok({ submission: end.submission, answer, skipped: isResumed(keyed) ? end.skipped : null });
}

function isResumed(keyed: KeyedPush | null): boolean {
  return keyed !== null && keyed.resume !== null;
}

/** Takes over the interrupted push of a key, if there is one. */
async function keyedPush(
  context: ApiContext,
  key: IncomingKey | null,
  options: PushOptions,
): Promise<Result<KeyedPush | null, Problem>> {
  if (key === null) return ok(null);
  const { fingerprint, interrupted } = key;
  const keyed = { claim: key.key, fingerprint: () => fingerprint.value };
  if (interrupted === null) return ok({ ...keyed, resume: null });
  const over = await takeOver(context, interrupted.submission);
  if (over === null) {
    const isDeleted = await isSubmissionDeleted(context.db, interrupted.submission);
    return err(isDeleted ? collectionDeleted(interrupted.submission) : stillRunning(RETRY_AFTER_SECONDS));
  }
  // Its parts belong to the submission that is open: other options would contradict it.
  if (!isSame(options, over.row)) {
    await releasePush(context.db, over.row.id, over.holder);
    return err(anotherBody(over.row.id));
  }
  return ok({ ...keyed, resume: { ...over, expected: interrupted.fingerprint } });
}

function isSame(options: PushOptions, row: PushOptions): boolean {
  const names = ["collection", "model", "lane", "label", "truncateInputs"] as const;
  return names.every((name) => options[name] === row[name]);
}

function namesOf(documents: HeldDocuments): (submission: SubmissionId) => { id: string }[] {
  const names = [...documents.names()];
  return (submission) => names.map(({ id, index }) => ({ id: id ?? nameDocument(submission, index) }));
}

function notThisCollection(collection: string): Problem {
  return { name: "forbidden", detail: `The key does not allow the collection "${collection}".` };
}
