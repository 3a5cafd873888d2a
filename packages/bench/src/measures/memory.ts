import { setTimeout as wait } from "node:timers/promises";
import { localConfigurations, fullKey, type Configuration } from "@sluice/local/configuration";
import { makeDocuments, MIDDLE, toBodies, toNdjson, type BenchDocument } from "../documents.ts";
import { KEY } from "../runtime/configurations.ts";
import { migrateDev, queryDev } from "../runtime/dev-d1.ts";
import { fireCron, startDev, type DevRuntime } from "../runtime/dev.ts";
import type { Inspector } from "../runtime/inspector.ts";

/** A Worker's heap during an operation, in bytes. It includes garbage that is not yet collected. */
export interface HeapUse {
  readonly what: string;
  readonly worker: string;
  readonly seconds: number;
  readonly samples: number;
  readonly lowest: number;
  readonly peak: number;
  /** Maximum bytes of buffers outside the heap. */
  readonly buffers: number;
}

const SAMPLE_INTERVAL_MS = 20;
const PUSH_BYTES = 95_000_000;
const CHUNK_DOCUMENTS = 500;
const MANY_DOCUMENTS = 300_000;
const MAX_SECONDS = 300;

const BATCH_SECONDS = 8;

type Watched = "producer" | "consumer" | "poller";
type Watch = (what: string, work: () => Promise<void>) => Promise<HeapUse>;

/** Measures the heap of each Worker under its largest possible input. */
export async function measureMemory(): Promise<HeapUse[]> {
  return [
    ...(await withWorker("producer", async (dev, watch) => [
      await watch("a 95 MB NDJSON push", () => pushStream(dev)),
      await watch("ten JSON pushes of 10 MB at once", () => pushTen(dev)),
      await watch("an NDJSON push of 300,000 documents with ids of 40 characters", () => pushMany(dev)),
    ])),
    ...(await withWorker("consumer", async (dev, watch) => [
      await watch("a delivery of 100 full messages", () => pushAndRecord(dev, makeDocuments(MIDDLE, 8_310, 32))),
      await watch("the same in another alphabet", () => pushAndRecord(dev, inGreek(makeDocuments(MIDDLE, 4_250, 33)))),
    ])),
    ...(await withWorker("poller", async (dev, watch) => {
      await pushAndRecord(dev, makeDocuments(MIDDLE, 8_310, 35));
      const full = await watch("answers to a delivery of 100 full messages", () => pollAll(dev));
      await pushAndRecord(dev, makeDocuments({ name: "many", bytes: 300, contexts: 5 }, 10_000, 34));
      return [full, await watch("the answer to 10,000 documents of 5 contexts", () => pollAll(dev))];
    })),
  ];
}

async function withWorker(
  worker: Watched,
  measure: (dev: DevRuntime, watch: Watch) => Promise<HeapUse[]>,
): Promise<HeapUse[]> {
  await using dev = await startDev(configurations(), `sluice-${worker}`);
  await migrateDev(dev.url);
  // Warm up each operation before it is measured.
  await pushAndRecord(dev, makeDocuments(MIDDLE, 1, 30, "first"));
  await pollAll(dev);
  // Awaited here, because the runtime ends with this block.
  return await measure(dev, (what, work) => watchHeap(dev.inspector, worker, what, work));
}

/** The real Workers, with a Queue that waits for full deliveries. */
function configurations(): Configuration[] {
  const local = localConfigurations({
    mode: "instant",
    tickSeconds: 1,
    events: false,
    apiKeys: [fullKey("bench", KEY)],
  });
  const consumers =
    local.consumer.queues?.consumers?.map((queue) => ({ ...queue, max_batch_timeout: BATCH_SECONDS })) ?? [];
  return [
    local.producer,
    { ...local.consumer, queues: { ...local.consumer.queues, consumers } },
    local.poller,
    local["local-ai"],
  ];
}

async function watchHeap(
  inspector: Inspector,
  worker: string,
  what: string,
  work: () => Promise<void>,
): Promise<HeapUse> {
  const startedAt = performance.now();
  const seen: { used: number; buffers: number }[] = [];
  const over = new AbortController();
  const sampling = (async () => {
    while (!over.signal.aborted) {
      const usage = await inspector.ask<{ usedSize: number; backingStorageSize?: number }>("Runtime.getHeapUsage");
      if (usage === null) throw new Error("the inspector does not report the heap usage");
      seen.push({ used: usage.usedSize, buffers: usage.backingStorageSize ?? 0 });
      await wait(SAMPLE_INTERVAL_MS);
    }
  })();
  // If the work fails, report that error.
  sampling.catch(() => undefined);
  try {
    await work();
  } finally {
    over.abort();
  }
  await sampling;
  return {
    what,
    worker,
    seconds: (performance.now() - startedAt) / 1_000,
    samples: seen.length,
    lowest: Math.min(...seen.map(({ used }) => used)),
    peak: Math.max(...seen.map(({ used }) => used)),
    buffers: Math.max(...seen.map(({ buffers }) => buffers)),
  };
}

async function post(dev: DevRuntime, body: BodyInit, type: string): Promise<void> {
  const response = await fetch(`${dev.url}/v1/documents?lane=bulk`, {
    method: "POST",
    body,
    duplex: "half",
    headers: { authorization: `Bearer ${KEY}`, "content-type": type },
  } as RequestInit);
  const text = await response.text();
  if (response.status !== 202) throw new Error(`a push was answered with ${response.status}: ${text.slice(0, 300)}`);
}

async function pushStream(dev: DevRuntime): Promise<void> {
  const chunk = toNdjson(makeDocuments(MIDDLE, CHUNK_DOCUMENTS, 31));
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      // The same texts with other ids.
      const text = chunk.replaceAll('{"id":"d0', `{"id":"${String(sent / chunk.length)}-`);
      sent += chunk.length;
      controller.enqueue(new TextEncoder().encode(text));
      if (sent >= PUSH_BYTES) controller.close();
    },
  });
  await post(dev, body, "application/x-ndjson");
}

/** A push keeps the id of each document it has read, so this body has the maximum number and size of ids. */
async function pushMany(dev: DevRuntime): Promise<void> {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const lines = Array.from(
        { length: 1_000 },
        (_, n) => `{"id":"${String(sent + n).padStart(40, "i")}","query":"q","contexts":["c"]}\n`,
      );
      sent += lines.length;
      controller.enqueue(new TextEncoder().encode(lines.join("")));
      if (sent >= MANY_DOCUMENTS) controller.close();
    },
  });
  await post(dev, body, "application/x-ndjson");
}

async function pushTen(dev: DevRuntime): Promise<void> {
  const bodies = Array.from({ length: 10 }, (_, n) => {
    const documents = makeDocuments(MIDDLE, 6_500, 40 + n, `j${n}-`);
    return JSON.stringify({ documents });
  });
  await Promise.all(bodies.map((body) => post(dev, body, "application/json")));
}

async function pushAndRecord(dev: DevRuntime, documents: readonly BenchDocument[]): Promise<void> {
  const before = await ended(dev, "recorded");
  for (const body of toBodies(documents, 90_000_000)) await post(dev, body, "application/x-ndjson");
  await until(async () => (await ended(dev, "recorded")) - before >= documents.length);
  await until(
    async () =>
      Number(
        (await queryDev(dev.url, "SELECT count(*) FROM jobs WHERE status IN ('pending', 'dispatching')"))[0]?.[0],
      ) === 0,
  );
}

async function pollAll(dev: DevRuntime): Promise<void> {
  await until(async () => {
    await fireCron(dev.url, "sluice-poller");
    return Number((await queryDev(dev.url, "SELECT count(*) FROM jobs WHERE due_at IS NOT NULL"))[0]?.[0]) === 0;
  });
}

async function ended(dev: DevRuntime, counter: string): Promise<number> {
  const [row] = await queryDev(dev.url, `SELECT coalesce(sum(${counter}), 0) FROM submissions`);
  return Number(row?.[0]);
}

async function until(done: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + MAX_SECONDS * 1_000; performance.now() < end;) {
    if (await done()) return;
    await wait(200);
  }
  throw new Error(`not done after ${MAX_SECONDS} s`);
}

const GREEK = "αβγδεζηθικλμνξοπρστυφχψωάέή";

/** Letters of two bytes: a string of them takes as much memory as its UTF-8, and twice as much as ASCII. */
function inGreek(documents: readonly BenchDocument[]): BenchDocument[] {
  const turn = (text: string) => text.replace(/[a-z]/g, (letter) => GREEK[letter.charCodeAt(0) - 97] ?? letter);
  return documents.map(({ id, query, contexts }) => ({
    id: `g${id}`,
    query: turn(query),
    contexts: contexts.map(turn),
  }));
}
