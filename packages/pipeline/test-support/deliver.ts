import type { MessageDecision } from "../src/message/delivery.ts";
import { bodyOf, type TestPart } from "./index.ts";
import { consumeDelivery } from "../src/message/consume-delivery.ts";

/** A message for a test. Without `attempts`, it is delivered for the first time. */
export interface TestMessage {
  readonly id: string;
  readonly body: unknown;
  readonly attempts?: number;
}

export const QUEUE = "sluice-bulk";

/** Creates a message with a part. Its id names the part. */
export function messageOf(recordable: TestPart, changes?: Record<string, unknown>): TestMessage {
  return { id: `${recordable.submission}/${recordable.part}`, body: bodyOf(recordable, changes) };
}

/** Consumes a delivery and returns the kind of decision about each message, in order. */
export async function deliver(
  context: Parameters<typeof consumeDelivery>[0],
  messages: readonly TestMessage[],
  queue = QUEUE,
): Promise<MessageDecision["kind"][]> {
  const decisions = await decide(context, messages, queue);
  return messages.map((message) => {
    const decision = decisions.get(message.id);
    if (decision === undefined) throw new Error(`no decision about ${message.id}`);
    return decision.kind;
  });
}

/** Consumes a delivery and returns the decisions by message. */
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
