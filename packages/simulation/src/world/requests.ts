import type { Call, Dependencies } from "@sluice/producer/src/dependencies.ts";
import type { Invocation } from "./invocation.ts";
import type { Stack } from "./stack.ts";
import type { World } from "./world.ts";

/** What a client reads of an answer. */
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

interface Asked {
  readonly path: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: ReadableStream<Uint8Array>;
}

/** A request behind the check of its key, as a handler of the producer gets it. */
export function callOf({ path, parameters = {}, headers = {}, body }: Asked): Call {
  const url = new URL(path, "https://sluice.example");
  // Only what handlers read of one: a real Request takes its body apart on the event loop.
  const request = { url: url.href, headers: new Headers(headers), body: body ?? null } as unknown as Request;
  return { request, url, parameters, key: ADMIN };
}

/** What the producer is wired to, for one request. */
export function dependenciesOf(world: World, stack: Stack, by: Invocation): Dependencies {
  const queue = (lane: "interactive" | "bulk") => ({
    sendBatch: (messages: Iterable<{ body: string }>) =>
      stack.queues[lane].send(
        by,
        Array.from(messages, ({ body }) => body),
      ),
  });
  return {
    db: world.database(by),
    queues: { interactive: queue("interactive"), bulk: queue("bulk") },
    keys: [ADMIN],
    now: by.now,
    random: (count) => world.random.bytes(count),
    sleep: (milliseconds) => by.sleep(milliseconds),
    log: (entry) => world.trace.add(by.name, `logs ${entry.event}`),
    bodies: stack.bodies,
    rateLimiter: null,
    corsOrigins: [],
    docsAssets: { script: "", style: "" },
  };
}

export async function answerOf(response: Response): Promise<Answer> {
  const retryAfter = response.headers.get("retry-after");
  return {
    status: response.status,
    retryAfter: retryAfter === null ? null : Number(retryAfter),
    body: JSON.parse(await response.text()) as Record<string, unknown>,
  };
}
