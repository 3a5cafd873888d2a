import type { MessageDecision } from "../src/message/delivery.ts";
import { bodyOf, type TestPart } from "./index.ts";
import { consumeDelivery } from "../src/message/consume-delivery.ts";

/** Delivered for the first time where it does not say otherwise. */
export interface TestMessage {
  readonly id: string;
  readonly body: unknown;
  readonly attempts?: number;
}

export const QUEUE = "sluice-bulk";

/** A message that carries a part; its id tells which. */
export function messageOf(recordable: TestPart, changes?: Record<string, unknown>): TestMessage {
  return { id: `${recordable.submission}/${recordable.part}`, body: bodyOf(recordable, changes) };
}

/** What becomes of each message of a delivery, in its order. */
export async function deliver(
  context: Parameters<typeof consumeDelivery>[0],
  messages: readonly TestMessage[],
  queue = QUEUE,
): Promise<MessageDecision["kind"][]> {
  const decisions = await decide(context, messages, queue);
  return messages.map((message) => {
    const decision = decisions.get(message.id);
    if (decision === undefined) throw new Error(`nothing was decided over ${message.id}`);
    return decision.kind;
  });
}

/** The decisions over a delivery, by message. */
export function decide(
  context: Parameters<typeof consumeDelivery>[0],
  messages: readonly TestMessage[],
  queue = QUEUE,
): Promise<Map<string, MessageDecision>> {
  return consumeDelivery(
    context,
    queue,
    messages.map((message) => ({ attempts: 1, ...message })),
  );
}
