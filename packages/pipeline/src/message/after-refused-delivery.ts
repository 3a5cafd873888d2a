import type { MessageDecision } from "./delivery.ts";

/** The wait after the first refusal. It doubles with each delivery. */
const FIRST_WAIT_SECONDS = 30;
const MAX_WAIT_SECONDS = 1_800;
/**
 * Deliveries of a message after which it is quarantined. Only a dead-letter queue gets as far: the
 * others pass a message on after 10 retries. It drops one after its `max_retries`, which must not be
 * fewer. With the waits above, that is two days; an unread message lives for four.
 */
export const MAX_REFUSED_DELIVERIES = 100;

/** What should happen to a message whose part D1 refused at its delivery number `attempts`, from 1. */
export function afterRefusedDelivery(
  attempts: number,
): Exclude<MessageDecision, { kind: "ack" }> | { kind: "quarantine" } {
  if (attempts >= MAX_REFUSED_DELIVERIES) return { kind: "quarantine" };
  return { kind: "retry", delaySeconds: Math.min(FIRST_WAIT_SECONDS * 2 ** (attempts - 1), MAX_WAIT_SECONDS) };
}
