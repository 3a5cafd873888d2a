import type { FailureCode, JobId, ModelName, SubmissionId } from "@sluice/core";
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

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
