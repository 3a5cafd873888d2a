import { DEFAULT_MODEL } from "@sluice/core";
import { readLines } from "@sluice/simulation/src/baselines/lines.ts";
import type { AiBinding } from "../counting/counted-ai.ts";
import { counted } from "../counting/counted.ts";
import type { BenchDocument } from "../documents.ts";
import { INSERT_DOCUMENTS, INSERT_OUTCOMES } from "./tables.ts";

/*
 * The work of the floor arm on the path of Sluice's documents: lines packed into full messages, one batch at Workers AI
 * per delivery, its answer polled and inserted in one transaction. Nothing is checked, hashed, counted or recovered.
 * The difference to Sluice is the cost of Sluice's promises; the difference to the floor is the cost of the stand-ins
 * for the Queue and Workers AI.
 */

const MESSAGE_LENGTH = 127_000;
const MESSAGES_PER_CALL = 2;
/** Maximum bytes of one bound value of D1, and of one batch. */
const CHUNK_LENGTH = 1_800_000;
const BATCH_LENGTH = 9_000_000;

interface RelayEnv {
  readonly DB: D1Database;
  readonly QUEUE: Queue<string>;
  readonly AI: AiBinding;
}

interface BatchItem {
  readonly id: number;
  readonly result: { readonly response: readonly { readonly id: number; readonly score: number }[] };
}

/** Groups texts into lists of at most `max` characters. */
function groupsOf(texts: readonly string[], most: number): string[][] {
  const groups: string[][] = [];
  let length = Infinity;
  for (const text of texts) {
    if (length + text.length > most) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(text);
    length += text.length + 1;
  }
  return groups;
}

async function relay(env: RelayEnv, messages: readonly string[]): Promise<void> {
  const requests: { query: string; contexts: { text: string }[] }[] = [];
  const ids: string[] = [];
  for (const message of messages) {
    for (const { id, query, contexts } of JSON.parse(`[${message}]`) as BenchDocument[]) {
      ids.push(id);
      const texts: { text: string }[] = [];
      for (const text of contexts) texts.push({ text });
      requests.push({ query, contexts: texts });
    }
  }
  const insert = env.DB.prepare(INSERT_DOCUMENTS);
  await env.DB.batch(groupsOf(messages, CHUNK_LENGTH).map((group) => insert.bind(`[${group.join(",")}]`)));
  const answer = (await env.AI.run(DEFAULT_MODEL, { requests }, { queueRequest: true })) as { request_id: string };
  await env.DB.prepare("INSERT INTO jobs (request_id, members) VALUES (?1, ?2)")
    .bind(answer.request_id, JSON.stringify(ids))
    .run();
}

export default counted<RelayEnv>({
  async fetch(request, env) {
    if (request.body === null) return new Response("a body is missing", { status: 400 });
    let held: string[] = [];
    let length = 0;
    let call: MessageSendRequest<string>[] = [];
    const close = async (): Promise<void> => {
      call.push({ body: held.join(","), contentType: "text" });
      held = [];
      length = 0;
      if (call.length < MESSAGES_PER_CALL) return;
      await env.QUEUE.sendBatch(call);
      call = [];
    };
    for await (const lines of readLines(request.body as ReadableStream<Uint8Array>)) {
      for (const line of lines) {
        if (line === "") continue;
        if (held.length > 0 && length + line.length > MESSAGE_LENGTH) await close();
        held.push(line);
        length += line.length + 1;
      }
    }
    if (held.length > 0) await close();
    if (call.length > 0) await env.QUEUE.sendBatch(call);
    return new Response("sent", { status: 202 });
  },

  async queue(batch, env) {
    const bodies = batch.messages.map((message) => message.body as string);
    for (const messages of groupsOf(bodies, BATCH_LENGTH)) await relay(env, messages);
  },

  async scheduled(_controller, env) {
    const open = await env.DB.prepare("SELECT request_id, members FROM jobs WHERE ended = 0").all<{
      request_id: string;
      members: string;
    }>();
    for (const { request_id: requestId, members } of open.results) {
      const answer = (await env.AI.run(DEFAULT_MODEL, { request_id: requestId })) as {
        responses?: readonly BatchItem[];
      };
      if (answer.responses === undefined) continue;
      const ids = JSON.parse(members) as string[];
      const outcomes = answer.responses.map(({ id, result }) => {
        const scores = result.response.map((entry) => [entry.id, entry.score] as const);
        return [ids[id], scores.toSorted(([i, a], [j, b]) => b - a || i - j)];
      });
      await env.DB.batch([
        env.DB.prepare(INSERT_OUTCOMES).bind(JSON.stringify(outcomes)),
        env.DB.prepare("UPDATE jobs SET ended = 1 WHERE request_id = ?1").bind(requestId),
      ]);
    }
  },
});
