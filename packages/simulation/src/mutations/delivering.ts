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
      "packages/pipeline/src/message/chunk-parts.ts",
      " || documents.some((document) => inRow.has(document))",
      "",
    ),
  ),
  withKind(
    "resending",
    mutation(
      "last-try-dropped",
      "a Queue that pushes back until the last try is taken for one that took the messages",
      "workers/producer/src/push/pushback.ts",
      "  await send();\n}",
      "  await send().catch(() => undefined);\n}",
    ),
  ),
  withKind(
    "resending",
    mutation(
      "total-after-close",
      "a push that the poller closed as abandoned raises its total when it goes on",
      "packages/pipeline/src/submission/sql/raise-total.ts",
      "AND closed_at IS NULL AND holder",
      "AND holder",
    ),
  ),
  withKind(
    "resending",
    mutation(
      "takeover-without-activity",
      "a push that was taken over can be taken over again at once",
      "packages/pipeline/src/submission/sql/take-over-push.ts",
      "SET holder = ${token}, active_at = ${now},",
      "SET holder = ${token},",
    ),
  ),
  withKind(
    "sharing",
    mutation(
      "taken-apart-during-dispatch",
      "a pause takes documents out of a job whose dispatch may still be confirmed",
      "packages/pipeline/src/job/sql/separate-submissions.ts",
      "j.dispatch_number = ${job.dispatchNumber} AND j.status = 'pending'`;",
      "j.dispatch_number = ${job.dispatchNumber} AND j.status = ${job.status}`;",
    ),
  ),
  mutation(
    "chain-taken-again",
    "a stale or repeated message takes the chain from the run that has it",
    "packages/pipeline/src/job/sql/chain.ts",
    "token = ${holder} WHERE name = 'chain' AND token = ${token}",
    "token = ${holder} WHERE name = 'chain'",
  ),
  mutation(
    "replay-forgets-first",
    "a quarantined message is forgotten before its queue has it again",
    "workers/producer/src/verbs/replay-malformed.ts",
    "      if (!(await send(context, destination.lane, body))) return err(NOT_SENT);\n      await dropMalformedMessage(context.db, key);",
    "      await dropMalformedMessage(context.db, key);\n      if (!(await send(context, destination.lane, body))) return err(NOT_SENT);",
  ),
];
