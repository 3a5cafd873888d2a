import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Mutations that show only in a database without room. */
export const FILLING: readonly Mutation[] = [
  mutation(
    "full-forever",
    "a database that was full stays full, whatever its size",
    "levelAfter",
    'bytes >= limit * (before === "full" ? FULL_UNTIL : FULL_FROM)',
    'before === "full" || bytes >= limit * FULL_FROM',
  ),
  mutation(
    "full-is-ignored",
    "a push is accepted although the database is full",
    "open",
    "${isKeyFree} AND NOT ${lacksRoom(needed)}",
    "${isKeyFree}",
  ),
  mutation(
    "full-is-acknowledged",
    "a message that finds the database full is acknowledged",
    "letWait",
    '{ kind: "retry", delaySeconds: waitForRoom(message.attempts, runInterval) }',
    '{ kind: "ack" }',
  ),
  mutation(
    "full-is-quarantined",
    "a message that finds the database full is quarantined",
    "recordDelivered",
    "letWait( context, delivery, planned.map(({ message }) => message), );",
    'await quarantine(context, delivery, planned.map((one) => ({ ...one, reason: "the database is full" })));',
  ),
].map((one) => withKind("full", one));
