import type { Lane, Result } from "@sluice/core";
import { readTime, type Time } from "@sluice/pipeline/platform/clock.ts";
import type { Database } from "@sluice/db";
import type { ApiKey } from "./http/keys.ts";
import type { Problem } from "./http/problems.ts";
import type { Log } from "./log.ts";
import type { BodiesInWork } from "./push/bodies-in-work.ts";
import type { Scorer } from "./shapes/stats.ts";

/** The one thing that is done to a Queue. */
export interface SendQueue {
  sendBatch(messages: Iterable<{ body: string; contentType: "text" }>): Promise<unknown>;
}

/** What a rate-limit binding does: counts for a key, and says whether it may go on. */
export interface RateLimiter {
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** Everything outside that a request is answered with. */
export interface ApiContext {
  readonly db: Database;
  readonly queues: Readonly<Record<Lane, SendQueue>>;
  readonly keys: readonly ApiKey[];
  /** Milliseconds on the isolate's clock, which may be wrong: for how long something takes. */
  readonly now: () => number;
  /** The time of D1's clock, for a statement: what is stored is of that, and ages too. */
  readonly databaseTime: () => Time;
  readonly random: (bytes: number) => Uint8Array;
  /** Milliseconds. */
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly log: Log;
  /** The large JSON bodies that this isolate works on. */
  readonly bodies: BodiesInWork;
  /** `null`: nobody is limited. */
  readonly rateLimiter: RateLimiter | null;
  /** Origins whose pages may call the API from a browser; `*` is all. None: no page may. */
  readonly corsOrigins: readonly string[];
  readonly scorer: Scorer;
  /** What the page at `/docs` is made of. */
  readonly docsAssets: { readonly script: string; readonly style: string };
}

/** What reads times out of D1, and compares them with the time there. */
export type Reader = Pick<ApiContext, "db" | "databaseTime">;

/** D1's time, in milliseconds since the epoch. */
export function readNow({ db, databaseTime }: Reader): Promise<number> {
  return readTime(db, databaseTime());
}

/** A request whose key was checked, on its way to the handler of its route. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  /** From the path, decoded once. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly key: ApiKey;
}

/** What a route does with a request. */
export type Handler = (context: ApiContext, call: Call) => Promise<Result<Response, Problem>>;
