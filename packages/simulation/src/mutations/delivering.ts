import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Queues, pushes that go on or stall, and jobs of several submissions. */
export const DELIVERING: readonly Mutation[] = [
  mutation(
    "no-dead-letter-queue",
    "the consumer's configuration lacks the dead-letter queue of a lane",
    "workers/consumer/wrangler.jsonc",
    `        "dead_letter_queue": "sluice-bulk-dead",\n`,
    "",
  ),
  withKind(
    "deleting",
    mutation(
      "versions-share-a-row",
      "two versions of a document have their texts in one row, where a deletion finds one of them",
      "hasRoom",
      "return !documents.some((document) => row.documents.has(document));",
      "return true;",
    ),
  ),
  withKind(
    "resending",
    mutation(
      "last-try-dropped",
      "a Queue that pushes back until the last try is taken for one that took the messages",
      "sendWithRetries",
      "await send(); }",
      "await send().catch(() => undefined); }",
    ),
  ),
  withKind(
    "resending",
    mutation(
      "total-after-close",
      "a push that the poller closed as abandoned raises its total when it goes on",
      "raiseTotal",
      "AND closed_at IS NULL AND holder",
      "AND holder",
    ),
  ),
  withKind(
    "resending",
    mutation(
      "takeover-without-activity",
      "a push that was taken over can be taken over again at once",
      "takeOverPush",
      "SET holder = ${token}, active_at = ${now},",
      "SET holder = ${token},",
    ),
  ),
  withKind(
    "sharing",
    mutation(
      "taken-apart-during-dispatch",
      "a pause takes documents out of a job whose dispatch may still be confirmed",
      "separateSubmissions",
      "j.dispatch_number = ${job.dispatchNumber} AND j.status = 'pending'`;",
      "j.dispatch_number = ${job.dispatchNumber} AND j.status = ${job.status}`;",
    ),
  ),
  mutation(
    "chain-taken-again",
    "a stale or repeated message takes the chain from the run that has it",
    "takeChain",
    "token: holder }).where(isChainOf(token))",
    'token: holder }).where(eq(heartbeats.name, "chain"))',
  ),
  withKind(
    "load",
    mutation(
      "broken-chain-stays",
      "a chain that broke is never replaced",
      "handOnChain",
      "OR ${heartbeats.at} < ${timeAfter(now, -CHAIN_ALIVE_MS)}",
      "",
    ),
  ),
  mutation(
    "replay-forgets-unknown",
    "a quarantined part of an unknown submission is forgotten when it is replayed",
    "restageMalformedMessage",
    "DELETE FROM malformed_messages WHERE queue = ${queue} AND message_id = ${id} AND ${known}",
    "DELETE FROM malformed_messages WHERE queue = ${queue} AND message_id = ${id}",
  ),
  mutation(
    "replay-forgets-first",
    "a quarantined message is forgotten before its queue has it again",
    "replayMalformed",
    "if (!(await send(context, destination.lane, body))) return err(NOT_SENT); await dropMalformedMessage(context.db, key);",
    "await dropMalformedMessage(context.db, key); if (!(await send(context, destination.lane, body))) return err(NOT_SENT);",
  ),
];
