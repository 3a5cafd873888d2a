import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import type { Lane } from "@sluice/core";
import type { Message } from "@sluice/pipeline/message/message.ts";
import { createApp } from "../src/app.ts";
import type { ApiContext } from "../src/context.ts";
import { parseKeys, scopes, type Scope } from "../src/http/keys.ts";
import type { LogEntry } from "../src/log.ts";
import { BodiesInWork } from "../src/push/bodies-in-work.ts";

export const KEY = "a-key-for-tests";
export const NOW = 1_790_000_000_000;

export interface SentCall {
  readonly lane: Lane;
  readonly bodies: readonly string[];
}

/** The API over the real D1 and the real queues, with a fixed clock. It records what it sends and logs. */
export interface TestApi {
  readonly context: ApiContext;
  readonly calls: SentCall[];
  readonly logs: LogEntry[];
  /** The waits of the API, in milliseconds. */
  readonly slept: number[];
  fetch(path: string, init?: RequestInit<RequestInitCfProperties>): Promise<Response>;
  /** All sent messages, in order. */
  messages(): Message[];
}

export async function keyRecord(
  key: string,
  more: { name?: string; scopes?: readonly Scope[]; collections?: string[] } = {},
) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const sha256 = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { name: "test", sha256, scopes, ...more };
}

/** Far from the counter of the fixtures: the random bytes of both become ids. */
let minted = 1 << 23;

export async function testApi(more: Partial<ApiContext> = {}): Promise<TestApi> {
  const calls: SentCall[] = [];
  const logs: LogEntry[] = [];
  const slept: number[] = [];
  const queue = (lane: Lane, binding: Queue<string>) => ({
    async sendBatch(messages: Iterable<{ body: string; contentType: "text" }>) {
      const list = [...messages];
      await binding.sendBatch(list);
      calls.push({ lane, bodies: list.map((message) => message.body) });
    },
  });
  const context: ApiContext = {
    db: openDatabase(env.DB),
    queues: { interactive: queue("interactive", env.INTERACTIVE), bulk: queue("bulk", env.BULK) },
    keys: parseKeys(JSON.stringify([await keyRecord(KEY)])),
    now: () => NOW,
    databaseTime: more.now ?? (() => NOW),
    random: (bytes) => {
      minted += 1;
      return Uint8Array.from({ length: bytes }, (_, index) => (minted >> (8 * (index % 4))) & 0xff);
    },
    sleep: async (milliseconds) => {
      slept.push(milliseconds);
    },
    log: (entry) => logs.push(entry),
    bodies: new BodiesInWork(),
    rateLimiter: null,
    scorer: "workers-ai",
    corsOrigins: [],
    docsAssets: { script: "script", style: "style" },
    ...more,
  };
  const app = createApp();
  return {
    context,
    calls,
    logs,
    slept,
    fetch: async (path, init = {}) => {
      const headers = new Headers(init.headers);
      if (!headers.has("authorization")) headers.set("authorization", `Bearer ${KEY}`);
      return app.fetch(new Request(`https://sluice.test${path}`, { ...init, headers }), context);
    },
    messages: () => calls.flatMap((call) => call.bodies.map((body) => JSON.parse(body) as Message)),
  };
}

export function pushJson(api: TestApi, body: unknown, query = ""): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return api.fetch(`/v1/documents${query}`, {
    method: "POST",
    body: text,
    headers: { "content-type": "application/json" },
  });
}

export function pushNdjson(
  api: TestApi,
  body: BodyInit | ReadableStream<Uint8Array>,
  query = "",
  headers: Record<string, string> = {},
): Promise<Response> {
  return api.fetch(`/v1/documents${query}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/x-ndjson", ...headers },
  });
}

/** The members of a problem that tests read. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly { readonly pointer?: string; readonly line?: number; readonly detail: string }[];
  readonly submission?: string | null;
  readonly request_id?: string;
}

/** The number of rows of all tables. */
export async function storedRows(): Promise<number> {
  const tables = [
    "submissions",
    "parts",
    "contexts",
    "staged_parts",
    "documents",
    "outcomes",
    "jobs",
    "malformed_messages",
    "idempotency_keys",
    "pauses",
  ];
  const counts = tables.map((table) => `SELECT count(*) AS rows FROM ${table}`).map((sql) => env.DB.prepare(sql));
  const results = await env.DB.batch<{ rows: number }>(counts);
  return results.reduce((sum, result) => sum + (result.results[0]?.rows ?? 0), 0);
}
