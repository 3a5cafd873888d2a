import { mutation, withKind, type Mutation } from "./mutation.ts";

const CONSUME = "workers/consumer/src/consume-delivery.ts";
const RECORD = "packages/db/src/operations/record-parts.ts";
const START = "packages/db/src/operations/start-attempt.ts";
const DISPATCH = "packages/dispatch/src/dispatch-job.ts";
const SETTLE = "packages/dispatch/src/settle-refusal.ts";

/** From the Queue to a dispatch. */
export const RECORDING: readonly Mutation[] = [
  mutation(
    "refusals-never-end",
    "refusals in a row are counted on after a dispatch that was taken in",
    "packages/db/src/operations/confirm-dispatch.ts",
    " refusals = 0,",
    "",
  ),
  mutation(
    "refusal-counted-twice",
    "an attempt that was refused is counted again where the error hid that it was recorded",
    "packages/db/src/operations/postpone-job.ts",
    "AND status = ${job.status}",
    "AND due_at IS NOT NULL",
  ),
  mutation(
    "acknowledge-before-record",
    "a message is acknowledged whether or not D1 has its part",
    CONSUME,
    `{ kind: recording.kind === "recorded" ? "ack" : "retry" }`,
    `{ kind: "ack" }`,
  ),
  withKind(
    "resuming",
    mutation(
      "refused-is-quarantined",
      "a message that a constraint of D1 forbids is quarantined at its first delivery",
      "workers/consumer/src/after-refusal.ts",
      "attempts >= MAX_REFUSED_DELIVERIES",
      "attempts >= 1",
    ),
  ),
  mutation(
    "record-twice",
    "a part that is recorded already is recorded and counted again",
    RECORD,
    "\n        OR EXISTS (SELECT 1 FROM parts p WHERE p.submission_id = k.value ->> 0 AND p.part = k.value ->> 1))",
    ")",
  ),
  withKind(
    "resending",
    mutation(
      "record-some-twice",
      "parts of which only some are recorded already are all recorded and counted",
      RECORD,
      "OR EXISTS (SELECT 1 FROM parts p WHERE p.submission_id = k.value ->> 0 AND p.part = k.value ->> 1))",
      "OR NOT EXISTS (SELECT 1 FROM json_each(${keys}) k WHERE NOT EXISTS (SELECT 1 FROM parts p\n          WHERE p.submission_id = k.value ->> 0 AND p.part = k.value ->> 1)))",
    ),
  ),
  mutation(
    "recording-repeated-later",
    "a recording whose answer was lost, repeated, brings back documents that were deleted since",
    RECORD,
    "WHERE ${guard})\n      INSERT INTO documents",
    "WHERE true)\n      INSERT INTO documents",
  ),
  mutation(
    "texts-stored-again",
    "a recording whose answer was lost, repeated, stores the texts of its parts once more",
    RECORD,
    "(VALUES ${sql.join(values, sql`, `)}) WHERE ${guard}`",
    "(VALUES ${sql.join(values, sql`, `)})`",
  ),
  mutation(
    "texts-of-a-neighbor",
    "the texts of a part that shares a row with others are sought where the row begins",
    RECORD,
    "at += documents.length;",
    "at = 0;",
  ),
  mutation(
    "record-into-started-job",
    "parts are added to a job whose first attempt has started",
    RECORD,
    "AND (j.status <> 'pending' OR j.attempt > 0))",
    "AND false)",
  ),
  mutation(
    "late-arrival-stays-lost",
    "documents that come after they were counted as lost stay counted so",
    RECORD,
    "lost = max(0, lost - counted.count),",
    "lost = lost,",
  ),
  mutation(
    "statements-without-transaction",
    "writes that belong together are made one by one",
    "packages/db/src/statements.ts",
    "const results = await db.$client.batch<Row>(statements.map((statement) => prepare(db, statement)));",
    "const results: D1Result<Row>[] = []; for (const statement of statements) results.push(await prepare(db, statement).all<Row>());",
  ),
  mutation(
    "dispatch-before-intent",
    "a batch is handed to Workers AI before D1 knows of the attempt",
    DISPATCH,
    "  const startedAt = io.now();\n",
    "  await submitBatch(io.ai, job.model, content.map(toRequest), io.bounded);\n  const startedAt = io.now();\n",
  ),
  mutation(
    "no-lease-at-recording",
    "a job that its recorder is about to dispatch is due for the poller at once, and an attempt has no lease",
    DISPATCH,
    "until: startedAt + dispatchLease(io.runInterval)",
    "until: startedAt",
  ),
  mutation(
    "lease-not-checked",
    "the poller takes jobs that are not due",
    "packages/db/src/operations/claim-due-jobs.ts",
    "AND due_at IS NOT NULL AND due_at <= ${now}",
    "AND due_at IS NOT NULL AND due_at <= ${now} + 1e12",
  ),
  mutation(
    "attempt-of-another",
    "who repeats a start takes over an attempt that another started meanwhile",
    START,
    " AND attempts ->> '$[#-1].token' = ${lease.token}",
    "",
  ),
  mutation(
    "lost-lease-not-counted",
    "an attempt whose lease ran out is not counted as unconfirmed",
    START,
    "unconfirmed_dispatches = unconfirmed_dispatches + (status = 'dispatching'),\n        attempts = json_insert(",
    "attempts = json_insert(",
  ),
  mutation(
    "leaving-not-counted",
    "a submission that is canceled out of a job takes none of its unconfirmed dispatches along",
    START,
    "UPDATE submissions SET unconfirmed_dispatches = submissions.unconfirmed_dispatches + leaving.unconfirmed",
    "UPDATE submissions SET unconfirmed_dispatches = submissions.unconfirmed_dispatches",
  ),
  mutation(
    "canceled-job-in-no-sum",
    "a job that was dispatched and ends as canceled is missing in the sums of all jobs",
    START,
    "        finalized_sequence = ${sequenceOfCanceled},\n        dispatched_at",
    "        dispatched_at",
  ),
  mutation(
    "open-attempt-deferred",
    "a pause takes documents out of an attempt that may still be confirmed",
    START,
    "status = iif(listed.count = 0, 'canceled', 'pending'),",
    "status = iif(listed.count = 0, 'canceled', status),",
  ),
  mutation(
    "confirm-any-attempt",
    "a request_id is recorded under whichever attempt is open",
    "packages/db/src/operations/confirm-dispatch.ts",
    "WHERE id = ${job.id} AND attempt = ${job.attempt}",
    "WHERE id = ${job.id}",
  ),
  mutation(
    "unclear-refusal-not-counted",
    "a batch that may be running is dispatched again without being counted",
    SETTLE,
    `refusal.mayBeRunning ? "unconfirmed" : "none"`,
    `"none"`,
  ),
  mutation(
    "bisection-drops-a-piece",
    "of a batch that is split only the first piece goes on",
    SETTLE,
    "cut(documents).map((piece)",
    "cut(documents).slice(0, 1).map((piece)",
  ),
  mutation(
    "split-uses-an-attempt",
    "a split counts as an answer about each document",
    SETTLE,
    "round: job.round,",
    "round: job.round + 1,",
  ),
  mutation(
    "neighbors-fail-too",
    "a batch that is invalid fails as a whole",
    "packages/dispatch/src/after-refusal.ts",
    `return job.documents > 1 ? { kind: "split" } : { kind: "fail", code: "invalid_input" };`,
    `return { kind: "fail", code: "invalid_input" };`,
  ),
  mutation(
    "pause-ignored",
    "dispatching goes on in a pause of everything",
    "packages/dispatch/src/pauses.ts",
    "return lastPause(pauses, [EVERYTHING, modelScope(job.model)]);",
    "return lastPause(pauses, [modelScope(job.model)]);",
  ),
  withKind(
    "deleting",
    mutation(
      "neighbors-of-deleted-fail",
      "what is left of a batch after a delete is taken for all that was refused",
      "workers/poller/src/poll-job.ts",
      "sent: documents.length",
      "sent: documents.filter((document) => document !== null).length",
    ),
  ),
];
