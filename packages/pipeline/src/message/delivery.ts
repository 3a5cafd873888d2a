/** A Queue message as a handler reads it. */
export interface DeliveredMessage {
  readonly id: string;
  readonly body: unknown;
  /** Deliveries in this queue, including this one. */
  readonly attempts: number;
}

/** What should happen to a message. */
export type MessageDecision =
  | { readonly kind: "ack" }
  /** Without `delaySeconds`, the queue's own delay applies. */
  | { readonly kind: "retry"; readonly delaySeconds?: number };

/** Carries out a handler's decisions, by message id. A message without a decision is retried. */
export function settleDelivery(messages: readonly Message[], decisions: ReadonlyMap<string, MessageDecision>): void {
  for (const message of messages) {
    const decision = decisions.get(message.id);
    if (decision?.kind === "ack") message.ack();
    else if (decision?.delaySeconds === undefined) message.retry();
    else message.retry({ delaySeconds: decision.delaySeconds });
  }
}
