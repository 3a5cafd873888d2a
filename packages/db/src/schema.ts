import { sql } from "drizzle-orm";
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import {
  jobStatuses,
  lanes,
  pauseReasons,
  type JobId,
  type ModelName,
  type RequestId,
  type SubmissionId,
} from "@sluice/core";

/*
 * Times are milliseconds since the epoch. Tables without a rowid are marked so in the migration by
 * hand: the key is the row, so that a document costs one row written and not two. SQLite loads each row
 * of such a table whole that it compares a key with, so that a lookup among rows of 128 KB reads 128 KB
 * a step: what is long as a rule lies in tables with a rowid.
 */

/** One accepted push. Written by the producer; counters move in the transactions of what they count. */
export const submissions = sqliteTable(
  "submissions",
  {
    /** `sub_` and a UUIDv7 greater than every one before: the version of its documents. */
    id: text("id").$type<SubmissionId>().primaryKey(),
    collection: text("collection").notNull(),
    model: text("model").$type<ModelName>().notNull(),
    lane: text("lane", { enum: lanes }).notNull(),
    label: text("label"),
    truncateInputs: integer("truncate_inputs", { mode: "boolean" }).notNull(),
    /** Documents sent to the Queue, or about to be. Producer. */
    total: integer("total").notNull(),
    /** Documents that are in `documents`. Consumer. */
    recorded: integer("recorded").notNull().default(0),
    succeeded: integer("succeeded").notNull().default(0),
    failed: integer("failed").notNull().default(0),
    canceled: integer("canceled").notNull().default(0),
    /** Documents whose message is given up for lost: they count as failed, and have no row. */
    lost: integer("lost").notNull().default(0),
    /** Whether the push broke off and was closed with what it had sent. */
    incomplete: integer("incomplete", { mode: "boolean" }).notNull().default(false),
    /** Jobs that ended, and what they used; a job's tokens are shared out by payload bytes. */
    jobs: integer("jobs").notNull().default(0),
    tokens: integer("tokens").notNull().default(0),
    /** Dispatches of which it is not known whether Workers AI ran them. */
    unconfirmedDispatches: integer("unconfirmed_dispatches").notNull().default(0),
    createdAt: integer("created_at").notNull(),
    /** When the producer last did something for it: tells a push under way from one that broke off. */
    activeAt: integer("active_at").notNull(),
    /** Set when nothing more will be sent. */
    closedAt: integer("closed_at"),
    cancelRequestedAt: integer("cancel_requested_at"),
    /** Set with the last document's end, once closed. */
    completedAt: integer("completed_at"),
    /** Who carries its push: null the request that opened it, a token one that took over, `''` nobody any more. */
    holder: text("holder"),
    /** The token of the request that opened it: a repeated try finds its row by it. */
    openedBy: text("opened_by"),
  },
  (table) => [
    // Labelled submissions only: an index on all would cost each a row.
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

/** What was answered to a push with an `Idempotency-Key`, or which submission it is about to go on under. */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    /** The name of the API key that it belongs to; empty for a push without such a header that had to be tried again. */
    apiKey: text("api_key").notNull(),
    key: text("key").notNull(),
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    /** SHA-256 of the options and the body; null while the body of a stream has not come to its end. */
    fingerprint: text("fingerprint"),
    createdAt: integer("created_at").notNull(),
    /** The answer's HTTP status and JSON; null until it is given. */
    status: integer("status"),
    answer: text("answer"),
  },
  (table) => [
    primaryKey({ columns: [table.apiKey, table.key] }),
    index("idempotency_keys_created").on(table.createdAt),
    check("idempotency_keys_answered", sql`(${table.status} IS NULL) = (${table.answer} IS NULL)`),
  ],
);

/** What one message carried, and the job that took it: the unit of recording. Written once, by the consumer. */
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
 * The contexts of documents, written with their parts. Here and not with each document: rows of
 * `documents` stay small, so that many fit a page, and a text is stored once and whole.
 */
export const contexts = sqliteTable("contexts", {
  id: integer("id").primaryKey(),
  /**
   * JSON `[[text, …], …]`: a list for each document that lies here, null where the document was deleted.
   * About 128 KB, of one part or of several small ones; of one document up to 1 MB. No two documents of one
   * id and collection lie in the same row.
   */
  texts: text("texts").notNull(),
});

/** A part too big for a message, from the push until it is recorded. Has a rowid: its key is an index of its own. */
export const stagedParts = sqliteTable(
  "staged_parts",
  {
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    part: integer("part").notNull(),
    stagedAt: integer("staged_at").notNull(),
    /** What its message would have held. */
    body: text("body").notNull(),
  },
  (table) => [primaryKey({ columns: [table.submissionId, table.part] })],
);

/** Immutable inputs, less the contexts: those lie in `contexts`. One row a document and version. */
export const documents = sqliteTable(
  "documents",
  {
    collection: text("collection").notNull(),
    documentId: text("document_id").notNull(),
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    part: integer("part").notNull(),
    /** From 0, in its push. */
    place: integer("place").notNull(),
    /** The row of `contexts` that its texts lie in, and the index of their list there. */
    contextsId: integer("contexts_id").notNull(),
    contextsAt: integer("contexts_at").notNull(),
    /** UTF-8 bytes as a request of a batch. */
    payloadBytes: integer("payload_bytes").notNull(),
    contextCount: integer("context_count").notNull(),
    /** JSON: as many ids as contexts; null where each context's id is its index. */
    contextIds: text("context_ids"),
    /** JSON, as it came. */
    metadata: text("metadata"),
    query: text("query").notNull(),
  },
  (table) => [primaryKey({ columns: [table.collection, table.documentId, table.submissionId] })],
);

export const outcomeStatuses = ["succeeded", "failed", "canceled"] as const;
export type OutcomeStatus = (typeof outcomeStatuses)[number];

/** Immutable ends: how a version of a document ended. Written once. */
export const outcomes = sqliteTable(
  "outcomes",
  {
    collection: text("collection").notNull(),
    documentId: text("document_id").notNull(),
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    status: text("status", { enum: outcomeStatuses }).notNull(),
    model: text("model").$type<ModelName>().notNull(),
    /** Answers that were used up. */
    attempts: integer("attempts").notNull(),
    /** The job whose answer it is; null where no job had it. */
    jobId: text("job_id").$type<JobId>(),
    code: text("code"),
    message: text("message"),
    dispatchedAt: integer("dispatched_at"),
    finalizedAt: integer("finalized_at").notNull(),
    /** JSON, best first: `[index, score]`, or `[index, score, id]` where the id is not the index. */
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

/** One Batch API call, from its recording to its end; see `JobStatus` for the states. */
export const jobs = sqliteTable(
  "jobs",
  {
    id: text("id").$type<JobId>().primaryKey(),
    model: text("model").$type<ModelName>().notNull(),
    lane: text("lane", { enum: lanes }).notNull(),
    status: text("status", { enum: jobStatuses }).notNull(),
    /** The job that it follows up, or half of which it is. */
    parentId: text("parent_id").$type<JobId>(),
    /** The job that took over its documents before it was dispatched. Set with the status `merged`. */
    mergedInto: text("merged_into").$type<JobId>(),
    /** Which answer its documents wait for, from 1. */
    round: integer("round").notNull(),
    /** Dispatches so far. */
    dispatchNumber: integer("dispatch_number").notNull().default(0),
    /** Refusals in a row, for the backoff. */
    refusals: integer("refusals").notNull().default(0),
    documentCount: integer("document_count").notNull(),
    contextCount: integer("context_count").notNull(),
    payloadBytes: integer("payload_bytes").notNull(),
    requestId: text("request_id").$type<RequestId>(),
    /** When the poller looks at it next; a claim moves it ahead. Null once ended. */
    dueAt: integer("due_at"),
    /** The scope of the pause that holds it back: not due until that ends. Null where none does. */
    pausedBy: text("paused_by"),
    createdAt: integer("created_at").notNull(),
    dispatchedAt: integer("dispatched_at"),
    endedAt: integer("ended_at"),
    tokens: integer("tokens"),
    /** Order of ends, for the feed. */
    finalizedSequence: integer("finalized_sequence"),
    unconfirmedDispatches: integer("unconfirmed_dispatches").notNull().default(0),
    repeatedDispatches: integer("repeated_dispatches").notNull().default(0),
    /** Batches of one of its documents that Workers AI may have accepted, at most: inherited by children and merged jobs. */
    batches: integer("batches").notNull().default(0),
    /** How often it was halved because its submits timed out: inherited by children. */
    halvings: integer("halvings").notNull().default(0),
    /** JSON, the last 20 dispatches: `{ number, started_at, token, request_id?, ended_at?, error? }`. */
    dispatches: text("dispatches").notNull().default("[]"),
    /** JSON `[[submission_id, [document_id, …]], …]`: what is to be sent, and once started what was sent. */
    members: text("members").notNull(),
  },
  (table) => [
    // Polls and dispatches are claimed apart: neither is read past to find the other.
    index("jobs_due")
      .on(table.lane, sql`status = 'dispatched'`, table.dueAt)
      .where(sql`due_at IS NOT NULL`),
    index("jobs_paused")
      .on(table.pausedBy)
      .where(sql`paused_by IS NOT NULL`),
    index("jobs_parent")
      .on(table.parentId)
      .where(sql`parent_id IS NOT NULL`),
    // An event names a batch by its request_id. Only batches in progress: an entry is written once a dispatch.
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

/** What is not dispatched for now: everything (`all`), a model (`model:NAME`) or a submission (`submission:ID`). */
export const pauses = sqliteTable("pauses", {
  scope: text("scope").primaryKey(),
  reason: text("reason", { enum: pauseReasons }).notNull(),
  /** The service's words, or the caller's. */
  message: text("message"),
  since: integer("since").notNull(),
  /** Null: until it is resumed. */
  until: integer("until"),
});
