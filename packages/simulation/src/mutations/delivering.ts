import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Queues, resumed and stalled pushes, and jobs of several submissions. */
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
      "two versions of a document share a row of texts, and a deletion finds only one",
      "hasRoom",
      "return !documents.some((document) => row.documents.has(document));",
      "return true;",
    ),
  ),
  withKind(
    "resending",
    mutation(
      "last-try-dropped",
      "a send that the Queue refused at every attempt counts as sent",
      "sendWithRetries",
      "await send(); }",
      "await send().catch(() => undefined); }",
    ),
  ),
  withKind(
    "resending",
    mutation(
      "total-after-close",
      "a resumed push that the poller had closed as abandoned raises its total",
      "raiseTotal",
      "AND closed_at IS NULL AND holder",
      "AND holder",
    ),
  ),
  withKind(
    "resending",
    mutation(
      "takeover-without-activity",
      "a push can be taken over again right after a takeover",
      "takeOverPush",
      "SET holder = ${token}, active_at = ${now},",
      "SET holder = ${token},",
    ),
  ),
  withKind(
    "sharing",
    mutation(
      "separated-with-deleted",
      "a job keeps the weight of a deleted document whose submission is separated from it",
      "separateSubmissions",
      "SELECT count(*), coalesce(sum(d.context_count), 0), coalesce(sum(d.payload_bytes), 0) FROM json_each(j.members) g",
      "SELECT j.document_count - a.document_count, j.context_count - a.context_count, j.payload_bytes - a.payload_bytes FROM json_each(j.members) g",
    ),
  ),
  withKind(
    "sharing",
    mutation(
      "taken-apart-during-dispatch",
      "a pause removes documents from a job whose dispatch may still be confirmed",
      "separateSubmissions",
      "j.dispatch_number = ${job.dispatchNumber} AND j.status = 'pending'`;",
      "j.dispatch_number = ${job.dispatchNumber} AND j.status = ${job.status}`;",
    ),
  ),
  mutation(
    "chain-taken-again",
    "a stale or repeated message takes the chain from the run that holds it",
    "takeChain",
    "token: holder }).where(isChainOf(token))",
    'token: holder }).where(eq(heartbeats.name, "chain"))',
  ),
  withKind(
    "load",
    mutation(
      "broken-chain-stays",
      "a broken chain is never replaced",
      "handOnChain",
      "OR ${heartbeats.at} < ${timeAfter(now, -CHAIN_ALIVE_MS)}",
      "",
    ),
  ),
  mutation(
    "replay-forgets-unknown",
    "a replay deletes a quarantined part of an unknown submission",
    "restageMalformedMessage",
    "DELETE FROM malformed_messages WHERE queue = ${queue} AND message_id = ${id} AND ${known}",
    "DELETE FROM malformed_messages WHERE queue = ${queue} AND message_id = ${id}",
  ),
  mutation(
    "replay-forgets-first",
    "a quarantined message is deleted before its queue has it again",
    "replayMalformed",
    "if (!(await send(context, destination.lane, body))) return err(NOT_SENT); await dropMalformedMessage(context.db, key);",
    "await dropMalformedMessage(context.db, key); if (!(await send(context, destination.lane, body))) return err(NOT_SENT);",
  ),
];
