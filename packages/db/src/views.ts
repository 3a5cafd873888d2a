import { sql } from "drizzle-orm";
import { integer, real, sqliteView, text } from "drizzle-orm/sqlite-core";

/*
 * The public face for people who query D1. Columns keep their names and meaning. Each view looks a
 * document up by its key: `WHERE document_id = …` reads that document and no other.
 */

/** A finalized time as RFC 3339. */
const finalizedAt = sql.raw("strftime('%Y-%m-%dT%H:%M:%fZ', o.finalized_at / 1000.0, 'unixepoch')");

/** The newest version that succeeded: what is older stays until it is there. */
const newestSucceeded = sql.raw(`o.status = 'succeeded' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.document_id = o.document_id AND n.collection = o.collection
      AND n.submission_id > o.submission_id AND n.status = 'succeeded')`);

const scoreColumns = {
  collection: text("collection").notNull(),
  documentId: text("document_id").notNull(),
  contextId: text("context_id").notNull(),
  contextIndex: integer("context_index").notNull(),
  score: real("score").notNull(),
  /** From 1, the best. */
  rank: integer("rank").notNull(),
  model: text("model").notNull(),
  submissionId: text("submission_id").notNull(),
  finalizedAt: text("finalized_at").notNull(),
};

/** A row a context of each document that has scores. */
export const scores = sqliteView("scores", scoreColumns).as(sql`SELECT o.collection, o.document_id,
    coalesce(s.value ->> 2, CAST(s.value ->> 0 AS TEXT)) AS context_id,
    s.value ->> 0 AS context_index, s.value ->> 1 AS score, s.key + 1 AS rank,
    o.model, o.submission_id, ${finalizedAt} AS finalized_at
  FROM outcomes o CROSS JOIN json_each(o.scores) s
  WHERE ${newestSucceeded}`);

/** The best context of each document: the rows of `scores` with rank 1. */
export const best = sqliteView("best", scoreColumns).as(sql`SELECT o.collection, o.document_id,
    coalesce(o.scores ->> '$[0][2]', CAST(o.scores ->> '$[0][0]' AS TEXT)) AS context_id,
    o.scores ->> '$[0][0]' AS context_index, o.scores ->> '$[0][1]' AS score, 1 AS rank,
    o.model, o.submission_id, ${finalizedAt} AS finalized_at
  FROM outcomes o
  WHERE ${newestSucceeded}`);

/** Documents whose newest version to end, canceled ones aside, failed. */
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
    WHERE n.document_id = o.document_id AND n.collection = o.collection
      AND n.submission_id > o.submission_id AND n.status <> 'canceled')`);
