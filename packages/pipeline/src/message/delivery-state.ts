import { databaseBytes } from "@sluice/db";
import type { Context } from "../platform/context.ts";
import { levelAfter } from "../platform/database-level.ts";
import type { DeliveredMessage, MessageDecision } from "./delivery.ts";
import type { RecordedRoom } from "./sql/look-up-parts.ts";
import { waitForRoom } from "./wait-for-room.ts";

/** Milliseconds. Later, the poller has recorded a newer size. */
const SIZE_LIFE_MS = 60_000;

/** One delivery of a queue while it is consumed. */
export interface DeliveryState {
  readonly queue: string;
  /** By message id. */
  readonly decisions: Map<string, MessageDecision>;
  /** Messages that were quarantined. */
  quarantined: number;
  /** The recorded level of the database; `null` if it is unknown. */
  room: RecordedRoom | null;
  /** Messages that wait because the database is full. */
  waiting: number;
}

export function startDelivery(queue: string): DeliveryState {
  return { queue, decisions: new Map(), quarantined: 0, room: null, waiting: 0 };
}

/**
 * Whether the database is full: by the size that D1 reported last to this isolate, or by the recorded level if it
 * reported none lately.
 */
export function lacksRoom({ db }: Pick<Context, "db">, { room }: DeliveryState): boolean {
  if (room === null) return false;
  const bytes = databaseBytes(db, SIZE_LIFE_MS);
  return (bytes === null ? room.level : levelAfter(bytes, room.limit, room.level)) === "full";
}

/** Lets messages wait for room, longer with each delivery. Their attempts outlast what a queue keeps. */
export function letWait(
  { runInterval }: Pick<Context, "runInterval">,
  delivery: DeliveryState,
  messages: readonly DeliveredMessage[],
): void {
  delivery.waiting += messages.length;
  for (const message of messages)
    decide(delivery, [message], { kind: "retry", delaySeconds: waitForRoom(message.attempts, runInterval) });
}

/** Makes the same decision about several messages. */
export function decide(state: DeliveryState, messages: readonly DeliveredMessage[], decision: MessageDecision): void {
  for (const { id } of messages) state.decisions.set(id, decision);
}
