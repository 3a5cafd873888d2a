import { isDatabaseFull } from "@sluice/db";
import type { Context } from "../platform/context.ts";
import { decide, letWait, type DeliveryState } from "./delivery-state.ts";
import { submissionNamed } from "./message.ts";
import type { ReadMalformed } from "./read-messages.ts";
import { quarantineMessage } from "./sql/quarantine-message.ts";

/** Quarantines and acknowledges messages that cannot be recorded, so that a person can inspect them. Without room they wait. */
export async function quarantine(
  context: Context,
  delivery: DeliveryState,
  malformed: readonly Omit<ReadMalformed, "kind">[],
): Promise<void> {
  const { queue } = delivery;
  for (const { message, reason, body } of malformed) {
    try {
      await quarantineMessage(context.db, { queue, id: message.id, reason, body }, context.now());
    } catch (error) {
      if (!isDatabaseFull(error)) throw error;
      letWait(context, delivery, [message]);
      continue;
    }
    delivery.quarantined += 1;
    context.log({
      event: "message_malformed",
      queue,
      message: message.id,
      reason,
      submission: submissionNamed(body),
    });
    decide(delivery, [message], { kind: "ack" });
  }
}
