import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { FailureCode, JobId, ModelName, SubmissionId } from "@sluice/core";

/*
 * Tables that keep the pipeline going and count what it did, beside those of documents and their jobs.
 */

/** How far the search for submissions that need looking after has come. One row. */
export const sweeps = sqliteTable("sweeps", {
  id: integer("id").primaryKey(),
  /** Every submission up to this one is settled, or in `watched_submissions`. */
  sweptThrough: text("swept_through").$type<SubmissionId>().notNull(),
});

/** Submissions that were older than ten minutes and still open or short of documents. */
export const watchedSubmissions = sqliteTable("watched_submissions", {
  submissionId: text("submission_id").$type<SubmissionId>().primaryKey(),
});

/**
 * Sums over what has ended, so that counts need not be taken from it again: see `rollUpTotals`. `kind`
 * is `lane` (by lane), `label` (by label and collection), `code` (failed documents by failure code) or
 * `jobs` (all ended jobs).
 */
export const totals = sqliteTable(
  "totals",
  {
    kind: text("kind", { enum: ["lane", "label", "code", "jobs"] }).notNull(),
    name: text("name").notNull(),
    collection: text("collection").notNull(),
    /** Documents; of `jobs`, the jobs. */
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

/** How far `totals` has come. One row. */
export const folds = sqliteTable("folds", {
  id: integer("id").primaryKey(),
  /** Every submission up to this one is in `totals`, or in `unfolded_submissions`. */
  submissionsThrough: text("submissions_through").$type<SubmissionId>().notNull(),
  /** Every ended job up to this finalized sequence is in `totals`. */
  jobsThrough: integer("jobs_through").notNull(),
});

/** Submissions that had not ended when `totals` passed them, or began again since. */
export const notRolledUp = sqliteTable("unfolded_submissions", {
  submissionId: text("submission_id").$type<SubmissionId>().primaryKey(),
});

/** When something that runs by itself last did: the cron-triggered poller, and the chain of runs that goes on from it. */
export const heartbeats = sqliteTable("heartbeats", {
  name: text("name", { enum: ["poller", "chain"] }).primaryKey(),
  at: integer("at").notNull(),
  /** Of `chain`: names the next run, so that a repeated message starts none. */
  token: text("token"),
});

/** How fast each model's batches are submitted. One row a model. */
export const submitRates = sqliteTable("submit_rates", {
  model: text("model").$type<ModelName>().primaryKey(),
  /** When the next submit fits into the rate, if those so far had come evenly spaced. May be in the past. */
  nextAt: integer("next_at").notNull(),
});

/** Messages that no version of the consumer here can read, kept whole for a person to look at. */
export const malformedMessages = sqliteTable(
  "malformed_messages",
  {
    queue: text("queue").notNull(),
    messageId: text("message_id").notNull(),
    reason: text("reason").notNull(),
    receivedAt: integer("received_at").notNull(),
    /** The body as text; one that is not text is JSON. */
    body: text("body").notNull(),
  },
  (table) => [primaryKey({ columns: [table.queue, table.messageId] })],
);

/**
 * Retries that are still queueing documents again; a row goes with the last of them, or with the cancellation of its
 * submission. One of every code has no others beside it. Written by producer and poller.
 */
export const retries = sqliteTable(
  "retries",
  {
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    /** The failure code that it is limited to; `''`: every one. */
    code: text("code").$type<FailureCode | "">().notNull(),
    /** Tells it from an earlier one, which a Worker may still be at. */
    token: text("token").notNull(),
    requestedAt: integer("requested_at").notNull(),
    /** Failed documents that it was requested for; when another is requested, those of them that are left. */
    documents: integer("documents").notNull(),
    /** Documents that it has queued since. */
    queued: integer("queued").notNull().default(0),
    /** JSON `[code, document_id]`: parts with failed documents are listed up to here; null once all are. */
    listedThrough: text("listed_through"),
  },
  (table) => [primaryKey({ columns: [table.submissionId, table.code] })],
);

/** Parts with failed documents that a retry has not come to, by the job that recorded them. */
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

/** What pushes under an `Idempotency-Key` have sent to the Queue, until they are closed. A row for each few calls. */
export const sentParts = sqliteTable(
  "sent_parts",
  {
    submissionId: text("submission_id").$type<SubmissionId>().notNull(),
    /** The first of them. */
    part: integer("part").notNull(),
    /** JSON: the hash of each by its number. */
    hashes: text("hashes").notNull(),
  },
  (table) => [primaryKey({ columns: [table.submissionId, table.part] })],
);
