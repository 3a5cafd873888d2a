import {
  jobStatuses,
  lanes,
  pauseReasons,
  type JobId,
  type ModelName,
  type RequestId,
  type SubmissionId,
  outcomeStatuses,
} from "@sluice/core";
import { sql } from "drizzle-orm";
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

/*
 * Times are milliseconds since the epoch. Tables without a rowid are marked by hand in the migration: the key is the
 * row, so that a document costs one row written instead of two. SQLite loads each row of such a table completely to
 * compare keys, so a lookup among rows of 128 KB reads 128 KB per step. Large values are therefore in tables with a
 * rowid.
 */

/** One accepted push. Written by the producer. Counters change in the same transactions as the things they count. */
export const submissions = sqliteTable(
  "submissions",
  {
    /** `sub_` and a UUIDv7 greater than all before it. It is the version of the submission's documents. */
    id: text("id").$type<SubmissionId>().primaryKey(),
    collection: text("collection").notNull(),
    model: text("model").$type<ModelName>().notNull(),
    lane: text("lane", { enum: lanes }).notNull(),
    label: text("label"),
    truncateInputs: integer("truncate_inputs", { mode: "boolean" }).notNull(),
    /** Documents sent to the Queue, or about to be. Written by the producer. */
    total: integer("total").notNull(),
    /** Documents that are in `documents`. Written by the consumer. */
    recorded: integer("recorded").notNull().default(0),
    succeeded: integer("succeeded").notNull().default(0),
    failed: integer("failed").notNull().default(0),
    canceled: integer("canceled").notNull().default(0),
    /** Documents whose message is considered lost: they count as failed and have no row. */
    lost: integer("lost").notNull().default(0),
    /** Recorded documents whose row in `documents` was deleted, on request or by retention. */
    forgotten: integer("forgotten").notNull().default(0),
    /** Whether the push was interrupted and closed with the documents sent so far. */
    incomplete: integer("incomplete", { mode: "boolean" }).notNull().default(false),
    /** Ended jobs and their usage. A job's tokens are divided by payload bytes. */
    jobs: integer("jobs").notNull().default(0),
    tokens: integer("tokens").notNull().default(0),
    /** Dispatches that Workers AI may or may not have run. */
    unconfirmedDispatches: integer("unconfirmed_dispatches").notNull().default(0),
    createdAt: integer("created_at").notNull(),
    /** When the producer last worked on it: distinguishes a running push from an interrupted one. */
    activeAt: integer("active_at").notNull(),
    /** Set when nothing more will be sent. */
    closedAt: integer("closed_at"),
    cancelRequestedAt: integer("cancel_requested_at"),
    /** Set at the end of the last document, once closed. */
    completedAt: integer("completed_at"),
    /** Who runs its push: null for the request that opened it, a token for one that resumed it, `''` for nobody. */
    holder: text("holder"),
    /** The token of the request that opened it: a retry finds its row by it. */
    openedBy: text("opened_by"),
  },
  (table) => [
    // Only labeled submissions: an index on all would cost each a row.
    index("submissions_label")
      .on(table.label)
      .where(sql`label IS NOT NULL`),
    check("submissions_recorded", sql`${table.recorded} + ${table.lost} <= ${table.total}`),
    check("submissions_ended", sql`${table.succeeded} + ${table.failed} + ${table.canceled} <= ${table.recorded}`),
    check(
      "submissions_completed",
      sql`(${table.completedAt} IS NOT NULL) = (${table.closedAt} IS NOT NULL AND ${table.succeeded} + ${table.failed} + ${table.canceled} + ${table.lost} = ${table.total})`,
    ),
  ],
);

/** The answer to a push with an `Idempotency-Key`, or the submission under which it continues. */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    /** The name of its API key; empty for a push without an `Idempotency-Key` that had to be retried. */
    apiKey: text("api_key").notNull(),
    key: text("key").notNull(),
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    /** SHA-256 of the options and the body; null until the end of a streamed body. */
    fingerprint: text("fingerprint"),
    createdAt: integer("created_at").notNull(),
    /** The answer's HTTP status and JSON; null until it is sent. */
    status: integer("status"),
    answer: text("answer"),
  },
  (table) => [
    primaryKey({ columns: [table.apiKey, table.key] }),
    index("idempotency_keys_created").on(table.createdAt),
    check("idempotency_keys_answered", sql`(${table.status} IS NULL) = (${table.answer} IS NULL)`),
  ],
);

/** The content of one message, and the job that includes it: the unit of recording. Written once, by the consumer. */
export const parts = sqliteTable(
  "parts",
  {
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    part: integer("part").notNull(),
    jobId: text("job_id").$type<JobId>().notNull(),
    hash: text("hash").notNull(),
    documentCount: integer("document_count").notNull(),
    recordedAt: integer("recorded_at").notNull(),
    /** JSON: the ids of its documents, in order. */
    documents: text("documents").notNull(),
  },
  (table) => [primaryKey({ columns: [table.submissionId, table.part] })],
);

/**
 * The contexts of documents, written with their parts. They are separate from documents so that rows of `documents`
 * stay small and many fit in a page, and each text is stored once, unsplit.
 */
export const contexts = sqliteTable(
  "contexts",
  {
    /** Greater than every id before it, including those of deleted rows: see `highWaterMarks`. */
    id: integer("id").primaryKey(),
    /**
     * JSON `[[text, …], …]`: a list for each document in this row, null for a deleted document. About 128 KB, from one
     * part or several small ones; up to 1 MB for one document. No row has two documents with the same id and collection.
     */
    texts: text("texts").notNull(),
    /**
     * JSON `[[submission_id, part], …]`: the parts whose documents are in this row, in order. Null in a row that an older
     * version wrote, until retention has filled it in.
     */
    parts: text("parts"),
  },
  (table) => [
    // Only rows of an older version: no row written today has an entry.
    index("contexts_unlisted")
      .on(table.id)
      .where(sql`parts IS NULL`),
  ],
);

/** A part too large for a message, from the push until it is recorded. Has a rowid: its key is a separate index. */
export const stagedParts = sqliteTable(
  "staged_parts",
  {
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    part: integer("part").notNull(),
    stagedAt: integer("staged_at").notNull(),
    /** The message body it replaces. */
    body: text("body").notNull(),
  },
  (table) => [primaryKey({ columns: [table.submissionId, table.part] })],
);

/** Immutable inputs without the contexts, which are in `contexts`. One row per document and version. */
export const documents = sqliteTable(
  "documents",
  {
    collection: text("collection").notNull(),
    documentId: text("document_id").notNull(),
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    part: integer("part").notNull(),
    /** Its position in the push, from 0. */
    place: integer("place").notNull(),
    /** The row of `contexts` with its texts, and the index of their list there. */
    contextsId: integer("contexts_id").notNull(),
    contextsAt: integer("contexts_at").notNull(),
    /** UTF-8 bytes as a request in a batch. */
    payloadBytes: integer("payload_bytes").notNull(),
    contextCount: integer("context_count").notNull(),
    /** JSON: one id per context; null if each context's id is its index. */
    contextIds: text("context_ids"),
    /** JSON, unchanged. */
    metadata: text("metadata"),
    query: text("query").notNull(),
  },
  (table) => [primaryKey({ columns: [table.collection, table.documentId, table.submissionId] })],
);

/** How a version of a document ended. Immutable: written once. */
export const outcomes = sqliteTable(
  "outcomes",
  {
    collection: text("collection").notNull(),
    documentId: text("document_id").notNull(),
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    status: text("status", { enum: outcomeStatuses }).notNull(),
    model: text("model").$type<ModelName>().notNull(),
    /** Answers received. */
    attempts: integer("attempts").notNull(),
    /** The job whose answer it is; null if no job had it. */
    jobId: text("job_id").$type<JobId>(),
    code: text("code"),
    message: text("message"),
    dispatchedAt: integer("dispatched_at"),
    finalizedAt: integer("finalized_at").notNull(),
    /** JSON, best first: `[index, score]`, or `[index, score, id]` if the id is not the index. */
    scores: text("scores"),
  },
  (table) => [
    primaryKey({ columns: [table.collection, table.documentId, table.submissionId] }),
    index("outcomes_failed")
      .on(table.submissionId, table.code)
      .where(sql`status = 'failed'`),
    check("outcomes_scores", sql`(${table.status} = 'succeeded') = (${table.scores} IS NOT NULL)`),
    check("outcomes_code", sql`(${table.status} = 'failed') = (${table.code} IS NOT NULL)`),
  ],
);

/** One Batch API call, from its recording to its end. `JobStatus` describes the states. */
export const jobs = sqliteTable(
  "jobs",
  {
    id: text("id").$type<JobId>().primaryKey(),
    model: text("model").$type<ModelName>().notNull(),
    lane: text("lane", { enum: lanes }).notNull(),
    status: text("status", { enum: jobStatuses }).notNull(),
    /** The job it replaces, entirely or in part. */
    parentId: text("parent_id").$type<JobId>(),
    /** The job that took over its documents before it was dispatched. Set with the status `merged`. */
    mergedInto: text("merged_into").$type<JobId>(),
    /** The number of the answer its documents wait for, from 1. */
    round: integer("round").notNull(),
    /** Dispatches so far. */
    dispatchNumber: integer("dispatch_number").notNull().default(0),
    /** Consecutive refusals, for the backoff. */
    refusals: integer("refusals").notNull().default(0),
    documentCount: integer("document_count").notNull(),
    contextCount: integer("context_count").notNull(),
    payloadBytes: integer("payload_bytes").notNull(),
    requestId: text("request_id").$type<RequestId>(),
    /** When the poller processes it next; a claim moves it ahead. Null once ended. */
    dueAt: integer("due_at"),
    /** The scope of the pause that blocks it: it is not due until the pause ends. Null if there is none. */
    pausedBy: text("paused_by"),
    createdAt: integer("created_at").notNull(),
    dispatchedAt: integer("dispatched_at"),
    endedAt: integer("ended_at"),
    tokens: integer("tokens"),
    /** The position in the order in which jobs ended, for the feed. */
    finalizedSequence: integer("finalized_sequence"),
    unconfirmedDispatches: integer("unconfirmed_dispatches").notNull().default(0),
    repeatedDispatches: integer("repeated_dispatches").notNull().default(0),
    /**
     * The maximum, over its documents, of batches that Workers AI may have accepted. Child jobs and merged jobs inherit
     * it.
     */
    batches: integer("batches").notNull().default(0),
    /** How often it was halved because its submits timed out. Child jobs inherit it. */
    halvings: integer("halvings").notNull().default(0),
    /** JSON, the last 20 dispatches: `{ number, started_at, token, request_id?, ended_at?, error? }`. */
    dispatches: text("dispatches").notNull().default("[]"),
    /** JSON `[[submission_id, [document_id, …]], …]`: the documents to send, and once dispatched, those sent. */
    members: text("members").notNull(),
  },
  (table) => [
    // Polls and dispatches have separate indexes, so that neither search scans the other's rows.
    index("jobs_due")
      .on(table.lane, sql`status = 'dispatched'`, table.dueAt)
      .where(sql`due_at IS NOT NULL`),
    index("jobs_paused")
      .on(table.pausedBy)
      .where(sql`paused_by IS NOT NULL`),
    index("jobs_parent")
      .on(table.parentId)
      .where(sql`parent_id IS NOT NULL`),
    // An event names a batch by its request_id. Only batches in progress are indexed: one entry per dispatch.
    index("jobs_request")
      .on(table.requestId)
      .where(sql`status = 'dispatched'`),
    uniqueIndex("jobs_finalized")
      .on(table.finalizedSequence)
      .where(sql`finalized_sequence IS NOT NULL`),
    check(
      "jobs_open",
      sql`(${table.status} IN ('pending', 'dispatching', 'dispatched')) = (${table.dueAt} IS NOT NULL)`,
    ),
    check("jobs_ended", sql`(${table.dueAt} IS NULL) = (${table.endedAt} IS NOT NULL)`),
    check("jobs_request", sql`${table.status} <> 'dispatched' OR ${table.requestId} IS NOT NULL`),
    check("jobs_paused_by", sql`${table.pausedBy} IS NULL OR ${table.status} = 'pending'`),
    check("jobs_merged", sql`(${table.mergedInto} IS NOT NULL) = (${table.status} = 'merged')`),
    check("jobs_started", sql`${table.status} NOT IN ('dispatching', 'dispatched') OR ${table.dispatchNumber} > 0`),
  ],
);

/** The pauses in force: of everything (`all`), a model (`model:NAME`) or a submission (`submission:ID`). */
export const pauses = sqliteTable("pauses", {
  scope: text("scope").primaryKey(),
  reason: text("reason", { enum: pauseReasons }).notNull(),
  /** The service's message, or the caller's. */
  message: text("message"),
  since: integer("since").notNull(),
  /** Null if it lasts until it is resumed. */
  until: integer("until"),
});
