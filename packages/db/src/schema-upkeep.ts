import { databaseLevels, type FailureCode, type JobId, type ModelName, type SubmissionId } from "@sluice/core";
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/* Tables for the operation of the pipeline and its counts, apart from those of documents and jobs. */

/** How far the search for submissions that need maintenance has progressed. One row. */
export const sweeps = sqliteTable("sweeps", {
  id: integer("id").primaryKey(),
  /** Every submission up to this one is settled, or in `watched_submissions`. */
  sweptThrough: text("swept_through").$type<SubmissionId>().notNull(),
});

/** Submissions older than ten minutes that are open or have missing documents. */
export const watchedSubmissions = sqliteTable("watched_submissions", {
  submissionId: text("submission_id").$type<SubmissionId>().primaryKey(),
});

/**
 * Sums over ended submissions and jobs, so that counts need not be computed again: see `rollUpTotals`. `kind` is `lane`
 * (by lane), `label` (by label and collection), `code` (failed documents by failure code) or `jobs` (all ended jobs).
 */
export const totals = sqliteTable(
  "totals",
  {
    kind: text("kind", { enum: ["lane", "label", "code", "jobs"] }).notNull(),
    name: text("name").notNull(),
    collection: text("collection").notNull(),
    /** Documents; for `jobs`, the jobs. */
    total: integer("total").notNull().default(0),
    succeeded: integer("succeeded").notNull().default(0),
    failed: integer("failed").notNull().default(0),
    canceled: integer("canceled").notNull().default(0),
    tokens: integer("tokens").notNull().default(0),
    unconfirmedDispatches: integer("unconfirmed_dispatches").notNull().default(0),
    repeatedDispatches: integer("repeated_dispatches").notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.kind, table.name, table.collection] })],
);

/** How far `totals` has progressed. One row. */
export const folds = sqliteTable("folds", {
  id: integer("id").primaryKey(),
  /** Every submission up to this one is in `totals`, or in `unfolded_submissions`. */
  submissionsThrough: text("submissions_through").$type<SubmissionId>().notNull(),
  /** Every ended job up to this finalized sequence is in `totals`. */
  jobsThrough: integer("jobs_through").notNull(),
});

/** Submissions that had not ended when `totals` passed them, or were reopened later. */
export const notRolledUp = sqliteTable("unfolded_submissions", {
  submissionId: text("submission_id").$type<SubmissionId>().primaryKey(),
});

/** The last run of each automatic process: the cron-triggered poller, and the chain of runs that continues it. */
export const heartbeats = sqliteTable("heartbeats", {
  name: text("name", { enum: ["poller", "chain"] }).primaryKey(),
  at: integer("at").notNull(),
  /** For `chain`: identifies the next run, so that a repeated message starts no other. */
  token: text("token"),
});

/** The submit rate of each model. One row per model. */
export const submitRates = sqliteTable("submit_rates", {
  model: text("model").$type<ModelName>().primaryKey(),
  /** When the next submit fits the rate, if those so far were evenly spaced. May be in the past. */
  nextAt: integer("next_at").notNull(),
});

/** Messages that no consumer version here can read, stored unchanged for a person to inspect. */
export const malformedMessages = sqliteTable(
  "malformed_messages",
  {
    queue: text("queue").notNull(),
    messageId: text("message_id").notNull(),
    reason: text("reason").notNull(),
    receivedAt: integer("received_at").notNull(),
    /** The body as text. A body that is not text is stored as JSON. */
    body: text("body").notNull(),
  },
  (table) => [primaryKey({ columns: [table.queue, table.messageId] })],
);

/**
 * Retries in progress. A row is deleted with its last document, or when its submission is canceled. A retry of all
 * codes excludes others for the same submission. Written by producer and poller.
 */
export const retries = sqliteTable(
  "retries",
  {
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    /** The failure code it is limited to; `''` for all codes. */
    code: text("code").$type<FailureCode | "">().notNull(),
    /** Distinguishes it from an earlier one that a Worker may still be processing. */
    token: text("token").notNull(),
    requestedAt: integer("requested_at").notNull(),
    /** Failed documents when it was requested. Reduced to the remaining ones when another is requested. */
    documents: integer("documents").notNull(),
    /** Documents queued so far. */
    queued: integer("queued").notNull().default(0),
    /** JSON `[code, document_id]`: parts with failed documents are listed up to here; null once all are. */
    listedThrough: text("listed_through"),
  },
  (table) => [primaryKey({ columns: [table.submissionId, table.code] })],
);

/** Parts with failed documents that a retry has not reached, by the job that recorded them. */
export const retryParts = sqliteTable(
  "retry_parts",
  {
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    code: text("code").notNull(),
    rootId: text("root_id").$type<JobId>().notNull(),
    part: integer("part").notNull(),
    /** All documents of the part. */
    documents: integer("documents").notNull(),
  },
  (table) => [primaryKey({ columns: [table.submissionId, table.code, table.rootId, table.part] })],
);

/**
 * The parts that pushes with an `Idempotency-Key` have sent to the Queue, until they are closed. One row for every few
 * calls.
 */
export const sentParts = sqliteTable(
  "sent_parts",
  {
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    /** The number of the first part. */
    part: integer("part").notNull(),
    /** JSON: the hash of each part by its number. */
    hashes: text("hashes").notNull(),
  },
  (table) => [primaryKey({ columns: [table.submissionId, table.part] })],
);

/**
 * The greatest number of each kind whose row was deleted. A new number is greater than those in its table and the one
 * here, so no number is used twice. Raised by the transaction that deletes the greatest number of a table. One row.
 */
export const highWaterMarks = sqliteTable("high_water_marks", {
  id: integer("id").primaryKey(),
  contextsId: integer("contexts_id").notNull().default(0),
  finalizedSequence: integer("finalized_sequence").notNull().default(0),
  submissionId: text("submission_id").$type<SubmissionId | "">().notNull().default(""),
});

/**
 * When texts expired: rows of `contexts` that retention deleted, as ranges of ids. In a range, every row that was left
 * was deleted at that time.
 */
export const textExpiries = sqliteTable("text_expiries", {
  lastId: integer("last_id").primaryKey(),
  firstId: integer("first_id").notNull(),
  expiredAt: integer("expired_at").notNull(),
});

/** How far each task of retention has come. Written by the poller. */
export const retentionProgress = sqliteTable("retention_progress", {
  task: text("task", {
    enum: ["list_parts", "texts", "failed_texts", "history", "jobs", "submissions", "malformed", "scores"],
  }).primaryKey(),
  /** JSON: the key of the last row that the pass has looked at. Rows behind it were too young. */
  cursor: text("cursor"),
  /** When the last pass began at the first row, and when one last reached a row that was too young. */
  startedAt: integer("started_at"),
  endedAt: integer("ended_at"),
  /** Since the first run: rows of `contexts`, documents with outcomes, or jobs that were deleted. */
  deleted: integer("deleted").notNull().default(0),
});

/** The size of the database, as the last run of the poller saw it. One row. */
export const databaseSize = sqliteTable("database_size", {
  id: integer("id").primaryKey(),
  bytes: integer("bytes").notNull(),
  level: text("level", { enum: databaseLevels }).notNull(),
  /** When it reached this level. */
  since: integer("since").notNull(),
  measuredAt: integer("measured_at").notNull(),
  /** `MAX_DATABASE_BYTES` of the poller. */
  limit: integer("limit_bytes").notNull(),
});

/** The deletion of each collection, up to a submission fixed by the request. Advanced by producer and poller. */
export const collectionDeletions = sqliteTable(
  "collection_deletions",
  {
    collection: text("collection").primaryKey(),
    /** Submissions up to this one are forgotten. */
    through: text("through").$type<SubmissionId>().notNull(),
    requestedAt: integer("requested_at").notNull(),
    /** JSON: how far the deletion has come; null before its first step. */
    cursor: text("cursor"),
    /** Versions of documents deleted so far. */
    deletedDocuments: integer("deleted_documents").notNull().default(0),
    completedAt: integer("completed_at"),
  },
  (table) => [
    index("collection_deletions_open")
      .on(table.requestedAt)
      .where(sql`completed_at IS NULL`),
  ],
);

/** Alerts that are raised. A row is deleted when the alert ends. Written by the poller. */
export const alerts = sqliteTable("alerts", {
  /** The alert, and after a colon what it is about: `model_paused:@cf/baai/bge-m3`. */
  name: text("name").primaryKey(),
  since: integer("since").notNull(),
});

/** Rows that each Worker has read and written in D1, as D1 bills them. Written about once a minute per isolate. */
export const rowUsage = sqliteTable("row_usage", {
  worker: text("worker", { enum: ["producer", "consumer", "poller"] }).primaryKey(),
  rowsRead: integer("rows_read").notNull().default(0),
  rowsWritten: integer("rows_written").notNull().default(0),
});
