import { pollWaits } from "./schedule.ts";
import type { RequestId } from "@sluice/core";
import { claimReportedJobs } from "./sql/claim-reported-jobs.ts";
import { describeError } from "../platform/describe-error.ts";
import { withDatabaseClock } from "../platform/database-clock.ts";
import type { DeliveredMessage, MessageDecision } from "../message/delivery.ts";
import { continueRun } from "./continue-run.ts";
import { readEvent } from "./read-event.ts";
import { pollJobs } from "./poll-jobs.ts";
import type { PollerContext } from "./poller-context.ts";
import { RunBudget } from "./run-budget.ts";

/**
 * Delays in seconds before an event of an unknown batch is delivered again. An event may arrive before the consumer has
 * recorded its `request_id`. After these delays, the batch is not ours or its job has ended.
 */
const UNKNOWN_RETRY_SECONDS = [2, 10] as const;

/**
 * Consumes one delivery of the queue `sluice-events` and decides about each message by its id. An event is only a hint.
 * The jobs that the delivery names are claimed together and polled, each at most once. If polling a job fails, a cron
 * run polls it again at the time that the claim set.
 */
export async function consumeEvents(
  context: PollerContext,
  messages: readonly DeliveredMessage[],
): Promise<Map<string, MessageDecision>> {
  const decisions = new Map<string, MessageDecision>();
  const ended: { readonly message: DeliveredMessage; readonly requestId: RequestId }[] = [];
  const continued: { readonly id: string; readonly token: string }[] = [];
  let unreadable = 0;
  for (const message of messages) {
    const event = readEvent(message.body);
    if (event.kind === "batch_ended") ended.push({ message, requestId: event.requestId });
    else if (event.kind === "continue_run") continued.push({ id: message.id, token: event.token });
    else decisions.set(message.id, { kind: "ack" });
    if (event.kind === "unreadable") unreadable += 1;
  }
  if (ended.length > 0) {
    const reported = await pollReported(
      context,
      ended.map(({ requestId }) => requestId),
    );
    const unknown = ended.filter(({ requestId }) => !reported.has(requestId));
    for (const { message } of ended) decisions.set(message.id, { kind: "ack" });
    for (const { message } of unknown) decisions.set(message.id, afterUnknown(message.attempts));
    context.log({ event: "events_consumed", batches: ended.length, jobs: reported.size, unknown: unknown.length });
  }
  if (unreadable > 0) context.log({ event: "events_unreadable", messages: unreadable });
  // Last: a run takes most of a minute, and the events must not wait for it.
  for (const { id, token } of continued) decisions.set(id, await tryContinuing(context, token));
  return decisions;
}

/** Claims and polls the jobs of these batches; returns the batches that have a job. */
async function pollReported(context: PollerContext, requestIds: readonly RequestId[]): Promise<ReadonlySet<RequestId>> {
  const jobs = await claimReportedJobs(
    context.db,
    [...new Set(requestIds)],
    pollWaits(context.runInterval),
    context.databaseTime(),
  );
  if (jobs.length > 0) await pollJobs(await withDatabaseClock(context), jobs, new RunBudget(context));
  return new Set(jobs.map(({ requestId }) => requestId));
}

/** Decides about an event of an unknown batch. `deliveries` includes this one. */
function afterUnknown(deliveries: number): MessageDecision {
  const delaySeconds = UNKNOWN_RETRY_SECONDS[deliveries - 1];
  return delaySeconds === undefined ? { kind: "ack" } : { kind: "retry", delaySeconds };
}

/** A token is valid once, so a repeated message starts nothing. */
async function tryContinuing(context: PollerContext, token: string): Promise<MessageDecision> {
  try {
    await continueRun(context, token);
    return { kind: "ack" };
  } catch (error) {
    context.log({ event: "continued_run_broke_off", ...describeError(error) });
    return { kind: "retry" };
  }
}
