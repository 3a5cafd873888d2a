import { err, ok, type Result, type SubmissionId } from "@sluice/core";
import { PartPacker, UNMINTED, type PackedPart } from "@sluice/pipeline/message/message.ts";
import type { KeyClaim } from "@sluice/pipeline/submission/sql/open-submission.ts";
import type { Problem } from "../http/problems.ts";
import type { AcceptedDocument } from "./accepted.ts";
import type { SendFailure } from "./run-step.ts";
import { CallRounds } from "./call-rounds.ts";
import { closePush, letGo } from "./close-push.ts";
import {
  openPush,
  partHeader,
  resumePush,
  type OpenFailure,
  type OpenPush,
  type SendingContext,
  type TakenOver,
} from "./open-push.ts";
import type { PushOptions } from "./options.ts";
import { PartSender } from "./part-sender.ts";

/** The documents of a push one after another, or the problem that ends them. */
export type PushItem = AcceptedDocument | { readonly problem: Problem };

export interface SentPush {
  readonly kind: "sent";
  readonly submission: SubmissionId;
  readonly createdAt: number;
  readonly accepted: number;
  /** Documents that were recorded before a push was taken over. */
  readonly skipped: number;
}

/** How a push ended. */
export type PushEnd =
  /** The Queue took everything. */
  | SentPush
  /** There was no document, and no submission was opened. */
  | { readonly kind: "nothing" }
  /** The input was interrupted; a submission that was opened stays open. */
  | { readonly kind: "broken_input"; readonly submission: SubmissionId | null; readonly problem: Problem }
  | { readonly kind: SendFailure; readonly submission: SubmissionId | null };

/** A push under an `Idempotency-Key`. */
export interface KeyedPush {
  readonly claim: Omit<KeyClaim, "fingerprint">;
  /** The fingerprint of the body, once it is read to its end; `null` before. */
  readonly fingerprint: () => string | null;
  /** The push to resume, and the fingerprint that it had, if it is known. */
  readonly resume: (TakenOver & { readonly expected: string | null }) | null;
}

interface Sending {
  readonly push: OpenPush;
  readonly rounds: CallRounds;
  readonly parts: PartSender;
}

function sendingOf(context: SendingContext, push: OpenPush): Sending {
  const rounds = new CallRounds(context, push);
  return { push, rounds, parts: new PartSender(context, push, rounds) };
}

/**
 * Sends checked documents as one submission. They are packed into parts before the submission is opened, which happens when
 * the first part is full: a push without documents leaves no trace, and one that fits a part costs a single write. `bytes`:
 * those of all documents, as far as known.
 */
export async function push(
  context: SendingContext,
  options: PushOptions,
  items: AsyncIterable<PushItem> | Iterable<PushItem>,
  keyed: KeyedPush | null = null,
  bytes = 0,
): Promise<PushEnd> {
  const resume = keyed?.resume ?? null;
  const packer = new PartPacker(partHeader(UNMINTED, options));
  let sending = resume === null ? null : sendingOf(context, resumePush(options, resume));
  let accepted = 0;
  const open = async (first: PackedPart, closed: boolean): Promise<Result<Sending, OpenFailure>> => {
    const claim = keyed === null ? null : { ...keyed.claim, fingerprint: keyed.fingerprint() };
    const opened = await openPush(
      context,
      options,
      { total: first.count, closed, bytes: Math.max(bytes, first.bytes) },
      claim,
    );
    return opened.ok ? ok(sendingOf(context, opened.value)) : err(opened.error);
  };

  for await (const item of items) {
    if ("problem" in item) {
      await giveUp(context, sending, keyed);
      return { kind: "broken_input", submission: sending?.push.submission ?? null, problem: item.problem };
    }
    accepted += 1;
    const part = packer.add(item.serialized, item.id === null);
    if (part === null) continue;
    if (sending === null) {
      const opened = await open(part, false);
      if (!opened.ok) return { kind: opened.error, submission: null };
      sending = opened.value;
    }
    const failure = await sending.parts.send(part);
    if (failure !== null) return breakOff(context, sending, keyed, failure);
  }

  const last = packer.flush();
  if (sending === null) {
    if (last === null) return { kind: "nothing" };
    const opened = await open(last, true);
    if (!opened.ok) return { kind: opened.error, submission: null };
    sending = opened.value;
  }
  const { submission, createdAt } = sending.push;
  if (resume !== null && resume.expected !== null && keyed?.fingerprint() !== resume.expected) {
    await giveUp(context, sending, keyed);
    return { kind: "other_body", submission };
  }
  const failure = await finish(context, sending, last);
  if (failure !== null) return breakOff(context, sending, keyed, failure);
  const { skipped } = sending.parts;
  const { collection, lane } = options;
  context.log({ event: "push_accepted", submission, collection, lane, documents: accepted, skipped });
  return { kind: "sent", submission, createdAt, accepted, skipped };
}

/** Sends the last part and closes the submission. `null`: the Queue took everything. */
async function finish(
  context: SendingContext,
  { push: opened, rounds, parts }: Sending,
  last: PackedPart | null,
): Promise<SendFailure | null> {
  const failure = (last === null ? null : await parts.send(last)) ?? (await rounds.finish());
  // Parts that were sent before did not come again: this is another push than the one that was interrupted.
  if (failure === null && !parts.isAllTaken) return "other_body";
  return closePush(context, opened, failure);
}

async function breakOff(
  context: SendingContext,
  sending: Sending,
  keyed: KeyedPush | null,
  failure: SendFailure,
): Promise<PushEnd> {
  const inProgress = await giveUp(context, sending, keyed);
  return { kind: inProgress === "taken" ? "taken" : failure, submission: sending.push.submission };
}

/** Ends a push early; gives how its calls in progress ended. Only a push with a key can be resumed, so only that is let go. */
async function giveUp(
  context: SendingContext,
  sending: Sending | null,
  keyed: KeyedPush | null,
): Promise<SendFailure | null> {
  if (sending === null) return null;
  const failure = await sending.rounds.settle();
  if (keyed !== null) await letGo(context, sending.push);
  return failure;
}
