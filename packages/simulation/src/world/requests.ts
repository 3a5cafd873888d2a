import { memberText, memberTexts, type Result } from "@sluice/core";
import { D1_TIME } from "@sluice/pipeline/platform/clock.ts";
import { openDatabase } from "@sluice/db";
import type { Call, ApiContext } from "@sluice/producer/src/context.ts";
import { responseOf, type Problem } from "@sluice/producer/src/http/problems.ts";
import { simulatedD1 } from "../d1/simulated-d1.ts";
import { BodiesInWork } from "@sluice/producer/src/push/bodies-in-work.ts";
import type { Invocation } from "./invocation.ts";
import type { Stack } from "./stack.ts";
import type { World } from "./world.ts";

/** The part of an answer that a client reads. */
export interface Answer {
  readonly status: number;
  readonly retryAfter: number | null;
  readonly body: Readonly<Record<string, unknown>>;
}

const ADMIN: Call["key"] = {
  name: "simulation",
  sha256: new Uint8Array(32),
  scopes: ["ingest", "read", "admin"],
  collections: null,
};

const UNUSED = {
  keys: [ADMIN],
  rateLimiter: null,
  corsOrigins: [],
  scorer: "workers-ai",
  docsAssets: { script: "", style: "" },
} as const;

interface Asked {
  readonly path: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: ReadableStream<Uint8Array>;
}

/** Builds a request for a handler of the producer, after the key check. */
export function callOf({ path, parameters = {}, headers = {}, body }: Asked): Call {
  const url = new URL(path, "https://sluice.example");
  // Only the fields that handlers read. A real Request reads its body on the event loop.
  const request = { url: url.href, headers: new Headers(headers), body: body ?? null } as unknown as Request;
  return { request, url, parameters, key: ADMIN };
}

/** Returns the producer's dependencies for one request. */
export function dependenciesOf(world: World, stack: Stack, by: Invocation): ApiContext {
  const queue = (lane: "interactive" | "bulk") => ({
    sendBatch: (messages: Iterable<{ body: string }>) =>
      stack.queues[lane].send(
        by,
        Array.from(messages, ({ body }) => body),
      ),
  });
  return {
    ...UNUSED,
    db: world.database(by),
    queues: { interactive: queue("interactive"), bulk: queue("bulk") },
    now: by.now,
    databaseTime: () => D1_TIME,
    random: (count) => world.random.bytes(count),
    sleep: (milliseconds) => by.sleep(milliseconds),
    log: (entry) => world.trace.add(by.name, `logs ${entry.event}`),
    bodies: stack.bodies,
  };
}

/** Returns dependencies for reads after the faults stop: calls take no time, do not fail and write nothing. */
export function readerOf(world: World): ApiContext {
  const d1 = simulatedD1(
    world.sqlite,
    async (_, work) => work(),
    (refusal) => world.fail(`D1 refused a read: ${refusal}`),
    (changes) => {
      if (changes.length > 0) world.fail("a read changed something");
    },
  );
  const queue = { sendBatch: () => Promise.reject(new Error("a read sends nothing")) };
  return {
    ...UNUSED,
    bodies: new BodiesInWork(),
    db: openDatabase(d1, { tries: 1, bounded: (call) => call(), rest: async () => undefined }),
    queues: { interactive: queue, bulk: queue },
    now: () => world.timeline.now,
    databaseTime: () => world.databaseNow(),
    random: () => new Uint8Array(),
    sleep: async () => undefined,
    log: (entry) => world.trace.add("reader", `logs ${entry.event}`),
  };
}

/** Reads an answer. The metadata of documents stays text, because parsing may round its numbers. */
export async function answerOf(result: Result<Response, Problem>): Promise<Answer> {
  const response = responseOf(result);
  const retryAfter = response.headers.get("retry-after");
  const text = await response.text();
  const body = JSON.parse(text) as Record<string, unknown>;
  if (text.includes(METADATA)) {
    const { data } = body;
    if (Array.isArray(data)) {
      for (const [index, metadata] of memberTexts(text, "data", "metadata").entries()) setText(data[index], metadata);
    } else {
      setText(body, memberText(text, "metadata"));
    }
  }
  return { status: response.status, retryAfter: retryAfter === null ? null : Number(retryAfter), body };
}

const METADATA = '"metadata":';

function setText(document: unknown, metadata: string | null): void {
  (document as Record<string, unknown>)["metadata"] = metadata === "null" ? null : metadata;
}
