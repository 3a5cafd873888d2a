import { sql } from "drizzle-orm";
import { integer, real, sqliteView, text } from "drizzle-orm/sqlite-core";

/*
 * The public interface for people who query D1. Columns keep their names and meaning. Each view finds documents by
 * their key, which begins with the collection: `WHERE collection = … AND document_id = …` reads that document only, and
 * `WHERE collection = …` that collection only. Without the collection a query reads everything.
 *
 * A column of a view has a type only if it is a column of a table or a CAST: without one SQLite compares the text '42'
 * with the number 42 as different values. So every computed column is a CAST.
 */

/** A time of D1 as RFC 3339, null if there is none. */
const rfc3339 = (column: string) =>
  sql.raw(`CAST(strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch') AS TEXT)`);
const finalizedAt = rfc3339("o.finalized_at");

/** The newest version that succeeded. An older one stays visible until a newer one has scores. */
const newestSucceeded = sql.raw(`o.status = 'succeeded' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.collection = o.collection AND n.document_id = o.document_id
      AND n.submission_id > o.submission_id AND n.status = 'succeeded')`);

const scoreColumns = {
  collection: text("collection").notNull(),
  documentId: text("document_id").notNull(),
  contextId: text("context_id").notNull(),
  contextIndex: integer("context_index").notNull(),
  score: real("score").notNull(),
  /** From 1, which is the best. */
  rank: integer("rank").notNull(),
  model: text("model").notNull(),
  submissionId: text("submission_id").notNull(),
  finalizedAt: text("finalized_at").notNull(),
};

/** Values of `scoreColumns` for an outcome `o` and an element `s` of its scores: `[index, score, id?]`. */
const scoreValues = sql`o.collection, o.document_id,
    CAST(coalesce(s.value ->> 2, s.value ->> 0) AS TEXT) AS context_id,
    CAST(s.value ->> 0 AS INTEGER) AS context_index, CAST(s.value ->> 1 AS REAL) AS score,
    CAST(s.key + 1 AS INTEGER) AS rank, o.model, o.submission_id, ${finalizedAt} AS finalized_at`;

/** One row per context of each document that has scores. */
export const scores = sqliteView("scores", scoreColumns).as(sql`SELECT ${scoreValues}
  FROM outcomes o CROSS JOIN json_each(o.scores) s
  WHERE ${newestSucceeded}`);

/** The best context of each document: the rows of `scores` with rank 1. */
export const best = sqliteView("best", scoreColumns).as(sql`SELECT o.collection, o.document_id,
    CAST(coalesce(o.scores ->> '$[0][2]', o.scores ->> '$[0][0]') AS TEXT) AS context_id,
    CAST(o.scores ->> '$[0][0]' AS INTEGER) AS context_index, CAST(o.scores ->> '$[0][1]' AS REAL) AS score,
    CAST(1 AS INTEGER) AS rank, o.model, o.submission_id, ${finalizedAt} AS finalized_at
  FROM outcomes o
  WHERE ${newestSucceeded}`);

/** The rows of `scores` with the scored texts. A row remains when its texts are deleted. */
export const ranked = sqliteView("ranked", {
  ...scoreColumns,
  /** Null once the document's input is deleted. */
  query: text("query"),
  /** The context's text; null once it is deleted. */
  text: text("text"),
  /** JSON; null if the document has none. */
  metadata: text("metadata"),
}).as(sql`SELECT ${scoreValues}, d.query,
    CAST(t.texts ->> ('$[' || d.contexts_at || '][' || (s.value ->> 0) || ']') AS TEXT) AS text, d.metadata
  FROM outcomes o
  LEFT JOIN documents d
    ON d.collection = o.collection AND d.document_id = o.document_id AND d.submission_id = o.submission_id
  LEFT JOIN contexts t ON t.id = d.contexts_id
  CROSS JOIN json_each(o.scores) s
  WHERE ${newestSucceeded}`);

/** Documents whose newest ended version, ignoring canceled ones, failed. */
export const failures = sqliteView("failures", {
  collection: text("collection").notNull(),
  documentId: text("document_id").notNull(),
  code: text("code").notNull(),
  message: text("message").notNull(),
  attempts: integer("attempts").notNull(),
  submissionId: text("submission_id").notNull(),
  finalizedAt: text("finalized_at").notNull(),
})
  .as(sql`SELECT o.collection, o.document_id, o.code, o.message, o.attempts, o.submission_id, ${finalizedAt} AS finalized_at
  FROM outcomes o
  WHERE o.status = 'failed' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.collection = o.collection AND n.document_id = o.document_id
      AND n.submission_id > o.submission_id AND n.status <> 'canceled')`);

/**
 * Whether a retry is about to queue documents of a submission again: all documents have ended, but the submission has
 * not.
 */
const isRetrying = "EXISTS (SELECT 1 FROM retries r WHERE r.submission_id = submissions.id)";

/** Each submission with its status and counts, as the API returns them: `total` is the sum of the five after it. */
export const submissionsProgress = sqliteView("submissions_progress", {
  submissionId: text("submission_id").notNull(),
  collection: text("collection").notNull(),
  model: text("model").notNull(),
  lane: text("lane").notNull(),
  label: text("label"),
  status: text("status").notNull(),
  total: integer("total").notNull(),
  queued: integer("queued").notNull(),
  processing: integer("processing").notNull(),
  succeeded: integer("succeeded").notNull(),
  /** Including documents whose message was lost: those have no row in `failures`. */
  failed: integer("failed").notNull(),
  canceled: integer("canceled").notNull(),
  /** 1 if its push was interrupted and closed with the documents sent so far. */
  incomplete: integer("incomplete", { mode: "boolean" }).notNull(),
  tokens: integer("tokens").notNull(),
  jobs: integer("jobs").notNull(),
  unconfirmedDispatches: integer("unconfirmed_dispatches").notNull(),
  createdAt: text("created_at").notNull(),
  completedAt: text("completed_at"),
}).as(sql`SELECT id AS submission_id, collection, model, lane, label,
    CAST(CASE
      WHEN completed_at IS NOT NULL AND cancel_requested_at IS NOT NULL THEN 'canceled'
      WHEN completed_at IS NOT NULL THEN iif(${sql.raw(isRetrying)}, 'processing', 'completed')
      WHEN cancel_requested_at IS NOT NULL THEN 'canceling'
      WHEN closed_at IS NULL THEN 'receiving'
      WHEN recorded + lost = 0 THEN 'queued'
      ELSE 'processing' END AS TEXT) AS status,
    total, CAST(total - recorded - lost AS INTEGER) AS queued,
    CAST(recorded - succeeded - failed - canceled AS INTEGER) AS processing,
    succeeded, CAST(failed + lost AS INTEGER) AS failed, canceled, incomplete, tokens, jobs, unconfirmed_dispatches,
    ${rfc3339("created_at")} AS created_at,
    ${rfc3339(`iif(${isRetrying}, NULL, completed_at)`)} AS completed_at
  FROM submissions`);
