import { PartPacker } from "@sluice/pipeline/message/message.ts";
import type { SubmissionId } from "@sluice/core";
import type { KeyClaim } from "@sluice/pipeline/submission/sql/open-submission.ts";
import type { Problem } from "../http/problems.ts";
import { UNMINTED, serializeAccepted, type AcceptedDocument } from "./accepted.ts";
import type { PushOptions } from "./options.ts";
import { Sending, partHeader, type SendingFailure, type SendingContext, type TakenOver } from "./sending.ts";

/** What comes in: documents one after another, or word that the rest will not come. */
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
  /** The input broke off, or what it was sent to; a submission that was opened stays open. */
  | { readonly kind: "broken_input"; readonly submission: SubmissionId | null; readonly problem: Problem }
  | { readonly kind: SendingFailure; readonly submission: SubmissionId | null };

/** A push under an `Idempotency-Key`. */
export interface KeyedPush {
  readonly claim: Omit<KeyClaim, "fingerprint">;
  /** The body's, once it has come to its end; `null` before. */
  readonly fingerprint: () => string | null;
  /** The push to go on with, and the fingerprint that it had, where it is known. */
  readonly resume: (TakenOver & { readonly expected: string | null }) | null;
}

/**
 * Sends checked documents as one submission. It is opened when the first part is full, so that a push
 * of nothing leaves nothing, and one that fits a part costs a single write.
 */
export async function push(
  io: SendingContext,
  options: PushOptions,
  items: AsyncIterable<PushItem> | Iterable<PushItem>,
  keyed: KeyedPush | null = null,
): Promise<PushEnd> {
  const resume = keyed?.resume ?? null;
  const measure = new PartPacker(partHeader(UNMINTED, options));
  let held: AcceptedDocument[] = [];
  let sending: Sending | null = resume === null ? null : Sending.resume(io, options, resume);
  let accepted = 0;
  const open = (first: { readonly total: number; readonly closed: boolean }) =>
    Sending.open(io, options, first, keyed === null ? null : { ...keyed.claim, fingerprint: keyed.fingerprint() });

  for await (const item of items) {
    if ("problem" in item) {
      await giveUp(sending, keyed);
      return { kind: "broken_input", submission: sending?.submission ?? null, problem: item.problem };
    }
    accepted += 1;
    if (sending !== null) {
      if (!(await sending.add(serializeAccepted(item, sending.submission)))) return breakOff(sending, keyed);
      continue;
    }
    const full = measure.add(item.serialized);
    held.push(item);
    if (full === null) continue;
    const opened = await open({ total: full.count, closed: false });
    if (typeof opened === "string") return { kind: opened, submission: null };
    sending = opened;
    if (!(await addAll(sending, held))) return breakOff(sending, keyed);
    held = [];
  }

  if (sending === null) {
    if (held.length === 0) return { kind: "nothing" };
    const opened = await open({ total: held.length, closed: true });
    if (typeof opened === "string") return { kind: opened, submission: null };
    sending = opened;
    if (!(await addAll(sending, held))) return breakOff(sending, keyed);
  }
  if (resume !== null && resume.expected !== null && keyed?.fingerprint() !== resume.expected) {
    await giveUp(sending, keyed);
    return { kind: "other_body", submission: sending.submission };
  }
  if (!(await sending.finish())) return breakOff(sending, keyed);
  const { submission, createdAt, skipped } = sending;
  return { kind: "sent", submission, createdAt, accepted, skipped };
}

async function addAll(sending: Sending, documents: readonly AcceptedDocument[]): Promise<boolean> {
  for (const document of documents) {
    if (!(await sending.add(serializeAccepted(document, sending.submission)))) return false;
  }
  return true;
}

async function breakOff(sending: Sending, keyed: KeyedPush | null): Promise<PushEnd> {
  await giveUp(sending, keyed);
  return { kind: sending.failure, submission: sending.submission };
}

/** Without a key nobody can go on with a push, so nobody needs to be told. */
async function giveUp(sending: Sending | null, keyed: KeyedPush | null): Promise<void> {
  await sending?.stop();
  if (keyed !== null) await sending?.letGo();
}
