import type { DeliveredMessage, MessageDecision } from "./delivery.ts";

/** One delivery of a queue while it is consumed. */
export interface DeliveryState {
  readonly queue: string;
  /** By message id. */
  readonly decisions: Map<string, MessageDecision>;
  /** Messages that were quarantined. */
  quarantined: number;
}

export function startDelivery(queue: string): DeliveryState {
  return { queue, decisions: new Map(), quarantined: 0 };
}

/** Makes the same decision about several messages. */
export function decide(state: DeliveryState, messages: readonly DeliveredMessage[], decision: MessageDecision): void {
  for (const { id } of messages) state.decisions.set(id, decision);
}
