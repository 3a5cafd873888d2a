import { DEFAULT_MODEL } from "@sluice/core";
import type { Baseline } from "./baseline.ts";
import { eachOf } from "./send-each.ts";
import { sendDocuments, type SentDocument } from "./send-documents.ts";

const AT_ONCE = 6;

interface DirectAnswer {
  readonly response: readonly { readonly id: number; readonly score: unknown }[];
}

/**
 * The design that queue tutorials teach: a message, a direct call to Workers AI and one row per document. Only the
 * Queue holds the documents: D1 gets a row once there are scores.
 *
 * Strengths: each message is acknowledged separately, after its row is written, so one failure does not affect others;
 * writing a row is idempotent; a newer push of an id replaces the row. Omissions, as in the tutorials: there is no
 * record of accepted documents, failures or costs; it does not distinguish a refused document from a transient error,
 * so both use up the message's retries; nothing reads the messages dropped after that; pushes of one id have no order.
 */
export const tutorial: Baseline = {
  tables: [
    `CREATE TABLE results (collection TEXT NOT NULL, document_id TEXT NOT NULL, scores TEXT NOT NULL,
      PRIMARY KEY (collection, document_id)) WITHOUT ROWID`,
  ],

  push: sendDocuments,

  async deliver({ AI, DB, log }, messages) {
    await eachOf(messages, AT_ONCE, async (message) => {
      try {
        const { collection, id, query, contexts } = JSON.parse(message.body) as SentDocument;
        const answer = await AI.run(DEFAULT_MODEL, { query, contexts: contexts.map((text) => ({ text })) });
        const scores = (answer as DirectAnswer).response.map((entry) => [entry.id, entry.score]);
        await DB.prepare("INSERT OR REPLACE INTO results (collection, document_id, scores) VALUES (?1, ?2, ?3)")
          .bind(collection, id, JSON.stringify(scores))
          .run();
        message.ack();
      } catch (error) {
        log(`tried again: ${String(error)}`);
        message.retry();
      }
    });
  },

  poll: null,

  read: {
    sql: "SELECT scores FROM results WHERE collection = ? AND document_id = ?",
    shown: (row) =>
      row === undefined
        ? { state: "nothing" }
        : { state: "succeeded", scores: JSON.parse(String(row["scores"])) as [number, unknown][] },
  },
};
