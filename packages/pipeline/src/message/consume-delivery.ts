import type { Context } from "../platform/context.ts";
import { classify } from "./classify-messages.ts";
import { decide, startDelivery } from "./delivery-state.ts";
import type { DeliveredMessage, MessageDecision } from "./delivery.ts";
import { dispatchRecorded } from "./dispatch-recorded.ts";
import { quarantine } from "./quarantine-messages.ts";
import { recordDelivered, recordStaged } from "./record-delivered.ts";

/**
 * Consumes one delivery of a queue or dead-letter queue: records all its parts with as few jobs as fit, dispatches the
 * jobs, and decides about each message by its id. A recorded message is acknowledged whether or not its job was
 * dispatched: from then on, D1 drives the retries. While the database is full, messages are delivered again later.
 */
export async function consumeDelivery(
  context: Context,
  queue: string,
  messages: readonly DeliveredMessage[],
): Promise<Map<string, MessageDecision>> {
  const delivery = startDelivery(queue);
  const { decisions } = delivery;
  const { parts, staged, duplicates, done, malformed, room } = await classify(context, messages);
  delivery.room = room;
  decide(delivery, done, { kind: "ack" });
  await quarantine(context, delivery, malformed);
  const jobs = await recordDelivered(context, delivery, parts, true);
  jobs.push(...(await recordStaged(context, delivery, staged)));
  await dispatchRecorded(context, jobs);
  // If a delivery has the same part twice, both messages get the decision about the first.
  for (const { message, first } of duplicates) decisions.set(message.id, decisions.get(first) ?? { kind: "retry" });
  context.log({
    event: "delivery_consumed",
    queue,
    messages: messages.length,
    parts: parts.length + staged.length,
    malformed: delivery.quarantined,
    waiting_for_room: delivery.waiting,
    retried: [...decisions.values()].filter((decision) => decision.kind === "retry").length,
  });
  return decisions;
}
