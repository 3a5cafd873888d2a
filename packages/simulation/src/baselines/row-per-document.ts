import { DEFAULT_MODEL } from "@sluice/core";
import type { Baseline, BaselineEnv, BaselineMessage } from "./baseline.ts";
import { sendDocuments, type SentDocument } from "./send-documents.ts";

const BATCHES_PER_RUN = 100;

interface Scores {
  readonly response: readonly { readonly id: number; readonly score: unknown }[];
}

interface BatchItem {
  readonly id?: number | string;
  readonly index?: number | string;
  readonly success: boolean;
  readonly result?: (Scores & { readonly result?: undefined }) | { readonly result: Scores } | null;
}

interface BatchAnswer {
  readonly status?: string;
  readonly responses?: readonly BatchItem[];
  readonly results?: readonly BatchItem[];
}

/** How an answer's item is matched to a document: by its position in the list, or by its `id`. */
export type Matching = "position" | "id";

/**
 * The other common design: a row per document, with a status that a cron run updates. Each document is a message. A
 * delivery becomes rows and one batch, whose `request_id` is written into them. Every minute each open batch is polled,
 * and its answer is written into its rows.
 *
 * Strengths: rows exist before the service is called; a repeated message is not submitted again once its row has a
 * `request_id`; the rows of a batch are written in one transaction; both shapes of answers are read; failures are
 * recorded per document; an error in one batch does not stop the others; a newer push of an id gets its own row.
 * Omissions, as in public projects of this design: no dispatch is written before the submit, so a crash or a D1 error
 * after it orphans a paid batch; there is no lease or guard, so two Workers may submit the same rows; rows whose
 * message has used up its retries, and batches that are forgotten or never answered, are never recovered; there is no
 * bisection. It marks a batch as completed before it writes the results, so an interruption strands the rest. Items are
 * matched to documents by position, as in the simplest code, or by the `id` that each carries.
 */
export function rowPerDocument(matching: Matching): Baseline {
  return {
    tables: [
      `CREATE TABLE requests (job_id TEXT PRIMARY KEY, collection TEXT NOT NULL, document_id TEXT NOT NULL,
        query TEXT NOT NULL, contexts TEXT NOT NULL, status TEXT NOT NULL, request_id TEXT, position INTEGER,
        scores TEXT, error TEXT, pushed_at INTEGER NOT NULL)`,
      "CREATE INDEX requests_request ON requests (request_id)",
      "CREATE INDEX requests_document ON requests (collection, document_id)",
      "CREATE TABLE batches (request_id TEXT PRIMARY KEY, status TEXT NOT NULL)",
    ],

    push: sendDocuments,
    deliver,

    async poll(env) {
      const open = await env.DB.prepare("SELECT request_id FROM batches WHERE status = 'processing' LIMIT ?1")
        .bind(BATCHES_PER_RUN)
        .all<{ request_id: string }>();
      for (const { request_id: requestId } of open.results) {
        try {
          await pollBatch(env, requestId, matching);
        } catch (error) {
          env.log(`polling failed: ${String(error)}`);
        }
      }
    },

    read: {
      sql: `SELECT status, scores FROM requests WHERE collection = ? AND document_id = ? ORDER BY pushed_at DESC LIMIT 1`,
      shown: (row) => {
        if (row === undefined) return { state: "nothing" };
        if (row["status"] === "failed") return { state: "failed" };
        if (row["status"] !== "completed") return { state: "pending" };
        return { state: "succeeded", scores: JSON.parse(String(row["scores"])) as [number, unknown][] };
      },
    },
  };
}

async function deliver({ AI, DB }: BaselineEnv, messages: readonly BaselineMessage[]): Promise<void> {
  const documents = messages.map((message) => JSON.parse(message.body) as SentDocument);
  const insert = DB.prepare(
    `INSERT INTO requests (job_id, collection, document_id, query, contexts, status, pushed_at)
     VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?6) ON CONFLICT DO NOTHING`,
  );
  await DB.batch(
    documents.map(({ job, collection, id, query, contexts, pushed_at: pushedAt }) =>
      insert.bind(job, collection, id, query, JSON.stringify(contexts), pushedAt),
    ),
  );

  const places = documents.map((_, index) => `?${index + 1}`).join(", ");
  const pending = await DB.prepare(`SELECT job_id FROM requests WHERE status = 'pending' AND job_id IN (${places})`)
    .bind(...documents.map(({ job }) => job))
    .all<{ job_id: string }>();
  const waiting = new Set(pending.results.map((row) => row.job_id));
  const batch = [...new Map(documents.map((document) => [document.job, document])).values()].filter(({ job }) =>
    waiting.has(job),
  );
  if (batch.length === 0) return;

  const requests = batch.map(({ job, query, contexts }) => ({
    query,
    contexts: contexts.map((text) => ({ text })),
    external_reference: job,
  }));
  const answer = (await AI.run(DEFAULT_MODEL, { requests }, { queueRequest: true })) as { request_id?: string } | null;
  const requestId = answer?.request_id;
  if (requestId === undefined) throw new Error("Workers AI returned no request_id");
  const update = DB.prepare(
    "UPDATE requests SET status = 'processing', request_id = ?1, position = ?2 WHERE job_id = ?3",
  );
  await DB.batch([
    DB.prepare("INSERT INTO batches (request_id, status) VALUES (?1, 'processing')").bind(requestId),
    ...batch.map(({ job }, position) => update.bind(requestId, position, job)),
  ]);
}

async function pollBatch({ AI, DB }: BaselineEnv, requestId: string, matching: Matching): Promise<void> {
  const answer = (await AI.run(DEFAULT_MODEL, { request_id: requestId })) as BatchAnswer | null;
  const items = answer?.responses ?? answer?.results;
  if (items === undefined) {
    if (!["failed", "expired", "error"].includes(answer?.status ?? "")) return;
    await DB.batch([
      DB.prepare("UPDATE requests SET status = 'failed', error = 'batch failed' WHERE request_id = ?1").bind(requestId),
      DB.prepare("UPDATE batches SET status = 'failed' WHERE request_id = ?1").bind(requestId),
    ]);
    return;
  }
  await DB.prepare("UPDATE batches SET status = 'completed' WHERE request_id = ?1").bind(requestId).run();
  const rows = await DB.prepare("SELECT job_id, position FROM requests WHERE request_id = ?1 ORDER BY position")
    .bind(requestId)
    .all<{ job_id: string; position: number }>();
  const complete = DB.prepare("UPDATE requests SET status = 'completed', scores = ?1 WHERE job_id = ?2");
  const fail = DB.prepare("UPDATE requests SET status = 'failed', error = ?1 WHERE job_id = ?2");
  if (rows.results.length === 0) return;
  await DB.batch(
    rows.results.map(({ job_id: job, position }) => {
      const item =
        matching === "position" ? items[position] : items.find(({ id, index }) => Number(id ?? index) === position);
      const scores = scoresOf(item);
      return scores === null ? fail.bind("no scores", job) : complete.bind(JSON.stringify(scores), job);
    }),
  );
}

function scoresOf(item: BatchItem | undefined): unknown[] | null {
  if (item?.success !== true || item.result == null) return null;
  const { response } = item.result.result ?? item.result;
  return Array.isArray(response) ? (response as Scores["response"]).map((entry) => [entry.id, entry.score]) : null;
}
