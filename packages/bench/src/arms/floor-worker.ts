import { readLines } from "@sluice/simulation/src/baselines/lines.ts";
import { counted } from "../counting/counted.ts";
import type { BenchDocument } from "../documents.ts";
import { INSERT_DOCUMENTS, INSERT_OUTCOMES } from "./tables.ts";

/*
 * The minimum work of any design in this runtime: parse the bytes, insert the documents, insert an outcome for each. No
 * Queue, no AI, no checks, no error recovery.
 */

/** Maximum bytes of one bound value of D1. */
const CHUNK_LENGTH = 1_800_000;

interface FloorEnv {
  readonly DB: D1Database;
}

async function store(db: D1Database, lines: readonly string[]): Promise<void> {
  const outcomes = lines.map((line) => {
    const { id, contexts } = JSON.parse(line) as BenchDocument;
    const scores = contexts.map((text, index) => [index, ((index * 7_919 + text.length) % 9_973) / 10_000] as const);
    return [id, scores.toSorted(([i, a], [j, b]) => b - a || i - j)];
  });
  await db
    .prepare(INSERT_DOCUMENTS)
    .bind(`[${lines.join(",")}]`)
    .run();
  await db.prepare(INSERT_OUTCOMES).bind(JSON.stringify(outcomes)).run();
}

export default counted<FloorEnv>({
  async fetch(request, env) {
    if (request.body === null) return new Response("a body is missing", { status: 400 });
    let held: string[] = [];
    let length = 0;
    for await (const lines of readLines(request.body as ReadableStream<Uint8Array>)) {
      for (const line of lines) {
        if (line === "") continue;
        if (length + line.length > CHUNK_LENGTH) {
          await store(env.DB, held);
          held = [];
          length = 0;
        }
        held.push(line);
        length += line.length + 1;
      }
    }
    if (held.length > 0) await store(env.DB, held);
    return new Response("stored", { status: 201 });
  },
});
