import { submissionNamed } from "./message.ts";
import { weighPart } from "../job/job.ts";
import { describeError } from "../platform/describe-error.ts";
import { quarantineMessage } from "./sql/quarantine-message.ts";
import { lookUpParts } from "./sql/look-up-parts.ts";
import { dispatchRecorded, planRecording, STAGED_AT_ONCE, type PlannedPart, type RecordedJob } from "./record-job.ts";
import { recordApart } from "./record-apart.ts";
import type { DeliveredMessage, MessageDecision } from "./delivery.ts";
import type { Context } from "../platform/context.ts";
import { afterRefusal } from "./after-refused-delivery.ts";
import { fetchStaged, readMessage, type ReadMalformed, type ReadPart, type ReadReference } from "./read-messages.ts";

interface DeliveredPart extends PlannedPart {
  readonly message: DeliveredMessage;
  /** The part's message as it came. */
  readonly body: string;
}

/**
 * Takes one delivery of a queue, dead-letter queues included: records all its parts with as few jobs as
 * fit, dispatches those, and decides over each message by its id. What is recorded is acknowledged
 * whether or not its job got through: from there on D1 drives. What D1 did not take comes again; what
 * a constraint forbids comes again ever later, and is quarantined before its last queue would drop it.
 * Staged parts are recorded a few at a time, as memory allows, and their texts are read again to dispatch them.
 */
export async function consumeDelivery(
  context: Context,
  queue: string,
  messages: readonly DeliveredMessage[],
): Promise<Map<string, MessageDecision>> {
  const decisions = new Map<string, MessageDecision>();
  const { parts, staged, duplicates, done, malformed } = await sort(context, messages);
  let unreadable = 0;

  for (const message of done) decisions.set(message.id, { kind: "ack" });
  const keep = async (one: Omit<ReadMalformed, "kind">): Promise<void> => {
    unreadable += 1;
    await quarantineMessage(
      context.db,
      { queue, id: one.message.id, reason: one.reason, body: one.body },
      context.now(),
    );
    context.log({
      event: "message_malformed",
      queue,
      message: one.message.id,
      reason: one.reason,
      submission: submissionNamed(one.body),
    });
    decisions.set(one.message.id, { kind: "ack" });
  };
  const refuse = async (one: DeliveredPart, constraint: string): Promise<void> => {
    const { message, part } = one;
    const next = afterRefusal(message.attempts);
    context.log({
      event: "recording_refused",
      level: "error",
      constraint,
      queue,
      message: message.id,
      submission: part.submission,
      part: part.part,
      attempts: message.attempts,
      retry_in_seconds: next.kind === "retry" ? (next.delaySeconds ?? null) : null,
    });
    if (next.kind === "quarantine") await keep({ ...one, reason: `D1 refuses its documents: ${constraint}` });
    else decisions.set(message.id, next);
  };
  for (const one of malformed) await keep(one);
  const jobs: RecordedJob[] = [];
  const record = async (read: readonly ReadPart[], keepsContent: boolean): Promise<void> => {
    const weighed: DeliveredPart[] = read.map((one) => ({ ...one, weight: weighPart(one.part) }));
    for (const planned of planRecording(weighed)) {
      const recorded = await recordApart(context, planned, keepsContent);
      jobs.push(...recorded.jobs);
      for (const { part, recording } of recorded.parts) {
        if (recording.kind === "unreadable") await keep({ ...part, reason: "D1 cannot read its documents" });
        else if (recording.kind === "refused") await refuse(part, recording.constraint);
        else decisions.set(part.message.id, { kind: recording.kind === "recorded" ? "ack" : "retry" });
      }
    }
  };
  await record(parts, true);
  for (let next = 0; next < staged.length; next += STAGED_AT_ONCE) {
    const group = staged.slice(next, next + STAGED_AT_ONCE);
    const fetched = await fetchAll(context, group).catch((error: unknown) => {
      // These come again; what was recorded before them stays decided.
      for (const { message } of group) decisions.set(message.id, { kind: "retry" });
      context.log({
        event: "fetching_broke_off",
        parts: group.length,
        ...describeError(error),
      });
      return null;
    });
    if (fetched === null) continue;
    for (const message of fetched.done) decisions.set(message.id, { kind: "ack" });
    for (const one of fetched.malformed) await keep(one);
    await record(fetched.parts, false);
  }
  await dispatchRecorded(context, jobs);
  // The same part twice in one delivery: what became of the first became of both.
  for (const { message, first } of duplicates) decisions.set(message.id, decisions.get(first) ?? { kind: "retry" });
  context.log({
    event: "delivery_consumed",
    queue,
    messages: messages.length,
    parts: parts.length + staged.length,
    malformed: unreadable,
    retried: [...decisions.values()].filter((decision) => decision.kind === "retry").length,
  });
  return decisions;
}

/** Tells parts that are to be recorded from what needs nothing more and from what cannot be used. */
async function sort(context: Context, messages: readonly DeliveredMessage[]) {
  const parts: ReadPart[] = [];
  const staged: ReadReference[] = [];
  const duplicates: { message: DeliveredMessage; first: string }[] = [];
  const done: DeliveredMessage[] = [];
  const malformed: ReadMalformed[] = [];
  const readable: (ReadPart | ReadReference)[] = [];
  for (const one of messages.map(readMessage)) {
    if (one.kind === "malformed") malformed.push(one);
    else readable.push(one);
  }
  const statuses = await lookUpParts(
    context.db,
    readable.map((one) => one.part),
  );
  const firsts = new Map<string, string>();
  for (const [index, one] of readable.entries()) {
    const { message, part, body } = one;
    const key = `${part.submission} ${part.part}`;
    const first = firsts.get(key);
    if (statuses[index] === "recorded") {
      done.push(message);
    } else if (statuses[index] !== "new") {
      malformed.push({ kind: "malformed", message, reason: "its submission is not in D1", body });
    } else if (first !== undefined) {
      duplicates.push({ message, first });
    } else {
      firsts.set(key, message.id);
      if (one.kind === "part") parts.push(one);
      else staged.push(one);
    }
  }
  return { parts, staged, duplicates, done, malformed };
}

/** Fetches staged parts. One that is not staged any more is recorded, or was never there. */
async function fetchAll(context: Context, references: readonly ReadReference[]) {
  const parts: ReadPart[] = [];
  const malformed: ReadMalformed[] = [];
  const gone: ReadReference[] = [];
  for (const reference of references) {
    const fetched = await fetchStaged(context.db, reference);
    if (fetched === null) gone.push(reference);
    else if (fetched.kind === "part") parts.push(fetched);
    else malformed.push(fetched);
  }
  if (gone.length === 0) return { parts, malformed, done: [] };
  // Asked after the part was not found there: what records it takes it away in the same transaction.
  const statuses = await lookUpParts(
    context.db,
    gone.map(({ part }) => part),
  );
  const done: DeliveredMessage[] = [];
  for (const [index, { message, body }] of gone.entries()) {
    if (statuses[index] === "recorded") done.push(message);
    else malformed.push({ kind: "malformed", message, reason: "its part is not staged", body });
  }
  return { parts, malformed, done };
}
