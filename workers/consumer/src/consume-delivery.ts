import { weighPart } from "@sluice/core";
import { isPassing, keepMalformedMessage, lookUpParts, readPauses, type Pause } from "@sluice/db";
import { planRecording, recordJob, type PlannedPart, type StepIo } from "@sluice/dispatch";
import { readMessages, submissionNamed, type DeliveredMessage, type ReadMessage } from "./read-messages.ts";

/** What should happen to a message. */
export type MessageDecision = { readonly kind: "ack" } | { readonly kind: "retry" };

type PartRead = Extract<ReadMessage, { kind: "part" }>;
type MalformedRead = { readonly message: DeliveredMessage; readonly reason: string; readonly body: string };
interface DeliveredPart extends PlannedPart {
  readonly message: DeliveredMessage;
  /** The part's message as it came. */
  readonly body: string;
}

/**
 * Takes one delivery of a queue, dead-letter queues included: records its parts with as few jobs as
 * fit, dispatches those, and decides over each message by its id. What is recorded is acknowledged
 * whether or not its job got through: from there on D1 drives. What D1 did not take comes again.
 */
export async function consumeDelivery(
  io: StepIo,
  queue: string,
  messages: readonly DeliveredMessage[],
): Promise<Map<string, MessageDecision>> {
  const decisions = new Map<string, MessageDecision>();
  const read = await readMessages(io.db, messages);
  const { fresh, duplicates, done, malformed } = await sort(io, read);

  for (const message of done) decisions.set(message.id, { kind: "ack" });
  const keep = async (one: MalformedRead): Promise<void> => {
    await keepMalformedMessage(io.db, { queue, id: one.message.id, reason: one.reason, body: one.body }, io.now());
    io.log({
      event: "message_malformed",
      queue,
      message: one.message.id,
      reason: one.reason,
      submission: submissionNamed(one.body),
    });
    decisions.set(one.message.id, { kind: "ack" });
  };
  for (const one of malformed) await keep(one);
  const pauses = fresh.length > 0 ? await readPauses(io.db, io.now()) : [];
  const weighed: DeliveredPart[] = fresh.map((read) => ({ ...read, weight: weighPart(read.part) }));
  for (const parts of planRecording(weighed)) {
    for (const { part, standing } of await recordApart(io, parts, pauses)) {
      if (standing === "refused") await keep({ ...part, reason: "D1 does not take its documents in" });
      else decisions.set(part.message.id, { kind: standing === "recorded" ? "ack" : "retry" });
    }
  }
  // The same part twice in one delivery: what became of the first became of both.
  for (const { message, first } of duplicates) decisions.set(message.id, decisions.get(first) ?? { kind: "retry" });
  io.log({
    event: "delivery_consumed",
    queue,
    messages: messages.length,
    parts: fresh.length,
    malformed: malformed.length,
    retried: [...decisions.values()].filter((decision) => decision.kind === "retry").length,
  });
  return decisions;
}

/** D1's words for rows that it will never take in, from SQLite's own. */
const REFUSED = /constraint failed|malformed json|too big/i;

interface RecordedPart {
  readonly part: DeliveredPart;
  readonly standing: "recorded" | "unrecorded" | "refused";
}

/**
 * Records a job's parts. D1 says no to all of them where one is at fault, so then each is tried by
 * itself: a message that no producer of this version sends must not take its neighbours along.
 */
async function recordApart(
  io: StepIo,
  parts: readonly DeliveredPart[],
  pauses: readonly Pause[],
): Promise<RecordedPart[]> {
  try {
    const recorded = await recordJob(io, parts, pauses);
    return parts.map((part, index) => ({ part, standing: recorded[index] === true ? "recorded" : "unrecorded" }));
  } catch (error) {
    const refused = error instanceof Error && !isPassing(error) && REFUSED.test(error.message);
    io.log({
      event: "recording_broke_off",
      parts: parts.length,
      refused,
      error: error instanceof Error ? error.name : typeof error,
    });
    if (!refused) return parts.map((part) => ({ part, standing: "unrecorded" }));
    if (parts.length === 1) return parts.map((part) => ({ part, standing: "refused" }));
    const apart: RecordedPart[] = [];
    for (const part of parts) apart.push(...(await recordApart(io, [part], pauses)));
    return apart;
  }
}

/** Tells parts that are to be recorded from what needs nothing more and from what cannot be used. */
async function sort(io: StepIo, read: readonly ReadMessage[]) {
  const fresh: PartRead[] = [];
  const duplicates: { message: DeliveredMessage; first: string }[] = [];
  const done: DeliveredMessage[] = [];
  const malformed: MalformedRead[] = [];
  const readable = read.flatMap((one) => {
    if (one.kind !== "malformed") return [one];
    malformed.push(one);
    return [];
  });
  const standings = await lookUpParts(
    io.db,
    readable.map((one) => (one.kind === "part" ? one.part : one.reference)),
  );
  const firsts = new Map<string, string>();
  for (const [index, one] of readable.entries()) {
    const standing = standings[index];
    if (standing === "recorded") {
      done.push(one.message);
    } else if (one.kind === "unstaged" || standing !== "new") {
      const reason = one.kind === "unstaged" ? "its part is not staged" : "its submission is not in D1";
      const body = one.kind === "part" ? one.body : JSON.stringify(one.reference);
      malformed.push({ message: one.message, reason, body });
    } else {
      const key = `${one.part.submission} ${one.part.part}`;
      const first = firsts.get(key);
      if (first === undefined) {
        firsts.set(key, one.message.id);
        fresh.push(one);
      } else {
        duplicates.push({ message: one.message, first });
      }
    }
  }
  return { fresh, duplicates, done, malformed };
}
