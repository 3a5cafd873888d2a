import { DEFAULT_MODEL } from "@sluice/core";
import { asItIs, eachOf, sendEach } from "@sluice/simulation/src/baselines/send-each.ts";
import type { AiBinding } from "../counting/counted-ai.ts";
import { counted } from "../counting/counted.ts";
import type { BenchDocument } from "../documents.ts";

/*
 * The design of a queue tutorial: a message, a direct call to Workers AI and an INSERT for each document. Sends are as
 * large as the Queue accepts, deliveries of 100 are processed six at a time, and the table has only its primary key
 * index. The simulation's baseline of the same name shows this design under faults.
 */

const AT_ONCE = 6;

interface TutorialEnv {
  readonly DB: D1Database;
  readonly QUEUE: Queue<string>;
  readonly AI: AiBinding;
}

export default counted<TutorialEnv>({
  async fetch(request, env) {
    if (request.body === null) return new Response("a body is missing", { status: 400 });
    return Response.json(
      { sent: await sendEach(request.body as ReadableStream<Uint8Array>, env.QUEUE, asItIs) },
      { status: 202 },
    );
  },
  async queue(batch, env) {
    await eachOf(batch.messages, AT_ONCE, async (message) => {
      const { id, query, contexts } = JSON.parse(message.body as string) as BenchDocument;
      const answer = await env.AI.run(DEFAULT_MODEL, { query, contexts: contexts.map((text) => ({ text })) });
      const { response } = answer as { response: readonly { readonly id: number; readonly score: number }[] };
      const scores = response.map((entry) => [entry.id, entry.score]);
      await env.DB.prepare("INSERT INTO results (document_id, scores) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
        .bind(id, JSON.stringify(scores))
        .run();
      message.ack();
    });
  },
});
