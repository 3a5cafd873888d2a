import { weighPart } from "../job/plan-jobs.ts";
import type { Context } from "../platform/context.ts";
import { describeError } from "../platform/describe-error.ts";
import { afterRefusedDelivery } from "./after-refused-delivery.ts";
import { decide, lacksRoom, letWait, type DeliveryState } from "./delivery-state.ts";
import { fetchStaged, STAGED_AT_ONCE } from "./fetch-staged.ts";
import { quarantine } from "./quarantine-messages.ts";
import type { ReadPart, ReadReference } from "./read-messages.ts";
import { recordApart } from "./record-apart.ts";
import { planRecording, type RecordedJob } from "./record-job.ts";

/**
 * Records the parts of a delivery and decides about their messages: a message whose part was not recorded is retried,
 * after increasing delays if a constraint forbids the part or if the database is full. `keepsContent`: see `recordJob`. Returns the recorded jobs.
 */
export async function recordDelivered(
  context: Context,
  delivery: DeliveryState,
  parts: readonly ReadPart[],
  keepsContent: boolean,
): Promise<RecordedJob[]> {
  const jobs: RecordedJob[] = [];
  for (const planned of planRecording(parts.map((one) => ({ ...one, weight: weighPart(one.part) })))) {
    if (lacksRoom(context, delivery)) {
      letWait(
        context,
        delivery,
        planned.map(({ message }) => message),
      );
      continue;
    }
    const recorded = await recordApart(context, planned, keepsContent);
    jobs.push(...recorded.jobs);
    for (const { part, recording } of recorded.parts) {
      if (recording.kind === "unreadable")
        await quarantine(context, delivery, [{ ...part, reason: "D1 cannot read its documents" }]);
      else if (recording.kind === "full") letWait(context, delivery, [part.message]);
      else if (recording.kind === "refused") await refuse(context, delivery, part, recording.constraint);
      else decide(delivery, [part.message], { kind: recording.kind === "recorded" ? "ack" : "retry" });
    }
  }
  return jobs;
}

/**
 * Fetches and records the staged parts of a delivery, a few at a time, as memory allows. Reads their texts again for
 * the dispatch.
 */
export async function recordStaged(
  context: Context,
  delivery: DeliveryState,
  references: readonly ReadReference[],
): Promise<RecordedJob[]> {
  const jobs: RecordedJob[] = [];
  for (let next = 0; next < references.length; next += STAGED_AT_ONCE) {
    const group = references.slice(next, next + STAGED_AT_ONCE);
    const messages = group.map(({ message }) => message);
    if (lacksRoom(context, delivery)) {
      letWait(context, delivery, messages);
      continue;
    }
    const fetched = await fetchStaged(context, group).catch((error: unknown) => {
      // These are retried. Earlier decisions about other messages stay.
      decide(delivery, messages, { kind: "retry" });
      const [first] = group.map(({ part: { submission, part } }) => ({ submission, part }));
      context.log({ event: "fetching_broke_off", ...first, parts: group.length, ...describeError(error) });
      return null;
    });
    if (fetched === null) continue;
    decide(delivery, fetched.done, { kind: "ack" });
    await quarantine(context, delivery, fetched.malformed);
    jobs.push(...(await recordDelivered(context, delivery, fetched.parts, false)));
  }
  return jobs;
}

/** Retries a message whose part a constraint forbids, or quarantines it before its last queue drops it. */
async function refuse(context: Context, delivery: DeliveryState, one: ReadPart, constraint: string): Promise<void> {
  const { message, part } = one;
  const next = afterRefusedDelivery(message.attempts);
  context.log({
    event: "recording_refused",
    level: "error",
    constraint,
    queue: delivery.queue,
    message: message.id,
    submission: part.submission,
    part: part.part,
    attempts: message.attempts,
    retry_in_seconds: next.kind === "retry" ? (next.delaySeconds ?? null) : null,
  });
  if (next.kind === "quarantine")
    await quarantine(context, delivery, [{ ...one, reason: `D1 refuses its documents: ${constraint}` }]);
  else decide(delivery, [message], next);
}
