import { PartPacker, type SubmissionId } from "@sluice/core";
import type { Problem } from "../http/problems.ts";
import { UNMINTED, serializeAccepted, type AcceptedDocument } from "./accepted.ts";
import type { PushOptions } from "./options.ts";
import { Sending, partHeader, type SendingIo } from "./sending.ts";

/** What comes in: documents one after another, or word that the rest will not come. */
export type PushItem = AcceptedDocument | { readonly problem: Problem };

/** How a push ended. */
export type PushEnd =
  /** The Queue took everything. */
  | { readonly kind: "sent"; readonly submission: SubmissionId; readonly createdAt: number; readonly accepted: number }
  /** There was no document, and no submission was opened. */
  | { readonly kind: "nothing" }
  /** The input broke off, or what it was sent to; a submission that was opened stays open. */
  | { readonly kind: "broken_input"; readonly submission: SubmissionId | null; readonly problem: Problem }
  | { readonly kind: "unsent"; readonly submission: SubmissionId | null };

/**
 * Sends checked documents as one submission. It is opened when the first part is full, so that a push
 * of nothing leaves nothing, and one that fits a part costs a single write.
 */
export async function push(
  io: SendingIo,
  options: PushOptions,
  items: AsyncIterable<PushItem> | Iterable<PushItem>,
): Promise<PushEnd> {
  const measure = new PartPacker(partHeader(UNMINTED, options));
  let held: AcceptedDocument[] = [];
  let sending: Sending | null = null;
  let accepted = 0;

  for await (const item of items) {
    if ("problem" in item) {
      await sending?.stop();
      return { kind: "broken_input", submission: sending?.submission ?? null, problem: item.problem };
    }
    accepted += 1;
    if (sending !== null) {
      if (!(await sending.add(serializeAccepted(item, sending.submission)))) return unsent(sending);
      continue;
    }
    const full = measure.add(item.serialized);
    held.push(item);
    if (full === null) continue;
    sending = await Sending.open(io, options, { total: full.count, closed: false });
    if (!(await addAll(sending, held))) return unsent(sending);
    held = [];
  }

  if (sending === null) {
    if (held.length === 0) return { kind: "nothing" };
    sending = await Sending.open(io, options, { total: held.length, closed: true });
    if (!(await addAll(sending, held))) return unsent(sending);
  }
  if (sending === null || !(await sending.finish())) return unsent(sending);
  return { kind: "sent", submission: sending.submission, createdAt: sending.createdAt, accepted };
}

async function addAll(sending: Sending | null, documents: readonly AcceptedDocument[]): Promise<boolean> {
  if (sending === null) return false;
  for (const document of documents) {
    if (!(await sending.add(serializeAccepted(document, sending.submission)))) return false;
  }
  return true;
}

async function unsent(sending: Sending | null): Promise<PushEnd> {
  await sending?.stop();
  return { kind: "unsent", submission: sending?.submission ?? null };
}
