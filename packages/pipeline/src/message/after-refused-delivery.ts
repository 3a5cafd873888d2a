import type { MessageDecision } from "./delivery.ts";

/** The delay after the first refusal. It doubles with each delivery. */
const FIRST_WAIT_SECONDS = 30;
const MAX_WAIT_SECONDS = 1_800;
/**
 * Deliveries after which a message is quarantined. Only messages in a dead-letter queue get that far: the other queues
 * pass a message on after 50 retries. A dead-letter queue drops a message after its `max_retries`, which must not be
 * fewer. With the delays above, that takes two days, after one in the first queue. An unread message lives for four.
 */
export const MAX_REFUSED_DELIVERIES = 100;

/** Decides about a message whose part D1 refused at delivery number `delivery`, counted from 1. */
export function afterRefusedDelivery(
  delivery: number,
): Exclude<MessageDecision, { kind: "ack" }> | { kind: "quarantine" } {
  if (delivery >= MAX_REFUSED_DELIVERIES) return { kind: "quarantine" };
  return { kind: "retry", delaySeconds: Math.min(FIRST_WAIT_SECONDS * 2 ** (delivery - 1), MAX_WAIT_SECONDS) };
}
