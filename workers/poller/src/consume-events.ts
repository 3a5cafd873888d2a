import { describeError } from "@sluice/db";
import type { DeliveredMessage, MessageDecision } from "@sluice/dispatch";
import { continueRun } from "./continue-run.ts";
import { readEvent } from "./read-event.ts";
import type { PollerIo } from "./run-poller.ts";

/** Takes one delivery of the queue `sluice-events` and decides about each message by its id. */
export async function consumeEvents(
  io: PollerIo,
  messages: readonly DeliveredMessage[],
): Promise<Map<string, MessageDecision>> {
  const decisions = new Map<string, MessageDecision>();
  let unreadable = 0;
  const continued: { readonly id: string; readonly token: string }[] = [];
  for (const { id, body } of messages) {
    const event = readEvent(body);
    if (event.kind === "unreadable") unreadable += 1;
    if (event.kind === "continue_run") continued.push({ id, token: event.token });
    else decisions.set(id, { kind: "ack" });
  }
  if (unreadable > 0) io.log({ event: "events_unreadable", messages: unreadable });
  // Last: a run takes most of a minute, and the events must not wait for it.
  for (const { id, token } of continued) decisions.set(id, await tryContinuing(io, token));
  return decisions;
}

/** The token is taken once, so that a repeated message starts nothing. */
async function tryContinuing(io: PollerIo, token: string): Promise<MessageDecision> {
  try {
    await continueRun(io, token);
    return { kind: "ack" };
  } catch (error) {
    io.log({ event: "continued_run_broke_off", ...describeError(error) });
    return { kind: "retry" };
  }
}
