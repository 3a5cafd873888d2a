import type { Batch } from "./batches.ts";
import { fractionOf } from "./hash.ts";
import type { EventType, Plan } from "./plan.ts";

/** A message for the events queue. */
export interface PlannedEvent {
  readonly body: BatchEvent;
  /** When to send it, in milliseconds since the epoch. */
  readonly sendAt: number;
  /** Sent after the next event, at `sendAt` at the latest. */
  readonly behindNext: boolean;
}

/** An event in the form of a Workers AI subscription. */
export interface BatchEvent {
  readonly type: `cf.workersAi.model.batch.${EventType}`;
  readonly source: { readonly type: "workersAi.model"; readonly modelName: string };
  readonly payload: { readonly requestId: string };
  readonly metadata: {
    readonly accountId: string;
    readonly eventSubscriptionId: string;
    readonly eventSchemaVersion: 1;
    readonly eventTimestamp: string;
  };
}

/** The messages for a state of a batch: one, unless faults change that. */
export function planEvents(
  plan: Plan,
  requestId: string,
  batch: Pick<Batch, "model" | "number">,
  type: EventType,
  now: number,
): PlannedEvent[] {
  const body: BatchEvent = {
    type: `cf.workersAi.model.batch.${type}`,
    source: { type: "workersAi.model", modelName: batch.model },
    payload: { requestId },
    metadata: {
      accountId: "local",
      eventSubscriptionId: "local",
      eventSchemaVersion: 1,
      eventTimestamp: new Date(now).toISOString(),
    },
  };
  let events: PlannedEvent[] = [{ body, sendAt: now, behindNext: false }];
  for (const [index, rule] of plan.events.entries()) {
    const strikes =
      (rule.types === undefined || rule.types.includes(type)) &&
      (rule.batches === undefined || rule.batches.includes(batch.number)) &&
      (rule.probability === undefined ||
        fractionOf(`${plan.seed}:events:${index}:${batch.number}:${type}`) < rule.probability);
    if (!strikes) continue;
    switch (rule.fault) {
      case "lost":
        return [];
      case "repeated":
        events = events.flatMap((event) => [event, event]);
        break;
      case "delayed":
        events = events.map((event) => ({ ...event, sendAt: event.sendAt + rule.delay_ms }));
        break;
      case "reordered":
        events = events.map((event) => ({ ...event, sendAt: event.sendAt + rule.delay_ms, behindNext: true }));
        break;
    }
  }
  return events;
}
