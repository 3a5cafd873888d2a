import { DEFAULT_MODEL } from "@sluice/core";
import { asItIs, eachOf, sendEach } from "@sluice/simulation/src/baselines/send-each.ts";
import type { AiBinding } from "../counting/counted-ai.ts";
import { counted } from "../counting/counted.ts";
import type { BenchDocument } from "../documents.ts";

/*
 * The other common design: a job row for each document, polled by cron. One message per document; a delivery becomes
 * rows and one batch; every poll updates every row of its batch, and the answer is written into them. One statement per
 * row, six at a time, as such projects do it; or, with BATCHED, one `batch()` for each delivery, poll and answer.
 * Nothing fails here: the simulation's baseline of the same name shows the design under faults.
 */

const AT_ONCE = 6;
const BATCHES_PER_RUN = 100;

interface RowPerDocumentEnv {
  readonly DB: D1Database;
  readonly QUEUE: Queue<string>;
  readonly AI: AiBinding;
  readonly BATCHED: string;
}

interface BatchItem {
  readonly result: { readonly response: readonly { readonly id: number; readonly score: number }[] };
  readonly external_reference: string;
}

async function runEach(env: RowPerDocumentEnv, statements: readonly D1PreparedStatement[]): Promise<void> {
  if (env.BATCHED === "true") await env.DB.batch([...statements]);
  else await eachOf(statements, AT_ONCE, async (statement) => void (await statement.run()));
}

async function poll(env: RowPerDocumentEnv, requestId: string): Promise<void> {
  const { DB, AI } = env;
  const answer = (await AI.run(DEFAULT_MODEL, { request_id: requestId })) as { responses?: readonly BatchItem[] };
  const now = Date.now();
  if (answer.responses === undefined) {
    const rows = await DB.prepare("SELECT document_id FROM requests WHERE request_id = ?1")
      .bind(requestId)
      .all<{ document_id: string }>();
    const update = DB.prepare("UPDATE requests SET polls = polls + 1, updated_at = ?1 WHERE document_id = ?2");
    return runEach(
      env,
      rows.results.map((row) => update.bind(now, row.document_id)),
    );
  }
  const update = DB.prepare(
    "UPDATE requests SET status = 'completed', scores = ?1, polls = polls + 1, updated_at = ?2 WHERE document_id = ?3",
  );
  return runEach(
    env,
    answer.responses.map(({ result, external_reference: id }) =>
      update.bind(JSON.stringify(result.response.map((entry) => [entry.id, entry.score])), now, id),
    ),
  );
}

export default counted<RowPerDocumentEnv>({
  async fetch(request, env) {
    if (request.body === null) return new Response("a body is missing", { status: 400 });
    return Response.json(
      { sent: await sendEach(request.body as ReadableStream<Uint8Array>, env.QUEUE, asItIs) },
      { status: 202 },
    );
  },

  async queue(batch, env) {
    const { DB, AI } = env;
    const documents = batch.messages.map((message) => JSON.parse(message.body as string) as BenchDocument);
    const insert = DB.prepare(
      `INSERT INTO requests (document_id, query, contexts, status, created_at, updated_at)
       VALUES (?1, ?2, ?3, 'pending', ?4, ?4) ON CONFLICT DO NOTHING`,
    );
    const now = Date.now();
    await runEach(
      env,
      documents.map(({ id, query, contexts }) => insert.bind(id, query, JSON.stringify(contexts), now)),
    );
    const requests = documents.map(({ id, query, contexts }) => ({
      query,
      contexts: contexts.map((text) => ({ text })),
      external_reference: id,
    }));
    const answer = (await AI.run(DEFAULT_MODEL, { requests }, { queueRequest: true })) as { request_id: string };
    const update = DB.prepare(
      "UPDATE requests SET status = 'processing', request_id = ?1, updated_at = ?2 WHERE document_id = ?3",
    );
    const dispatchedAt = Date.now();
    await runEach(
      env,
      documents.map(({ id }) => update.bind(answer.request_id, dispatchedAt, id)),
    );
  },

  async scheduled(_controller, env) {
    const open = await env.DB.prepare("SELECT DISTINCT request_id FROM requests WHERE status = 'processing' LIMIT ?1")
      .bind(BATCHES_PER_RUN)
      .all<{ request_id: string }>();
    await eachOf(open.results, env.BATCHED === "true" ? AT_ONCE : 1, ({ request_id: requestId }) =>
      poll(env, requestId),
    );
  },
});
