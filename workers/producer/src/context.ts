import type { Lane, Result } from "@sluice/core";
import { readTime, type Time } from "@sluice/pipeline/platform/clock.ts";
import type { Database } from "@sluice/db";
import type { ApiKey } from "./http/keys.ts";
import type { Problem } from "./http/problems.ts";
import type { Log } from "./log.ts";
import type { BodiesInWork } from "./push/bodies-in-work.ts";
import type { Scorer } from "./shapes/stats.ts";

/** The part of a Queue that the producer uses. */
export interface SendQueue {
  sendBatch(messages: Iterable<{ body: string; contentType: "text" }>): Promise<unknown>;
  /** Not every runtime has it. */
  metrics?(): Promise<{ backlogCount: number; backlogBytes: number; oldestMessageTimestamp?: Date | number }>;
}

/** A rate-limit binding: counts a request of a key, and says whether the key is within its limit. */
export interface RateLimiter {
  limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** Everything from outside that a request needs: bindings, settings, time and randomness. */
export interface ApiContext {
  readonly db: Database;
  readonly queues: Readonly<Record<Lane, SendQueue>>;
  readonly keys: readonly ApiKey[];
  /** Milliseconds on the isolate's clock, which may be wrong: only to measure how long something takes. */
  readonly now: () => number;
  /** The time of D1's clock, for a statement. Stored times and ages come from it. */
  readonly databaseTime: () => Time;
  readonly random: (bytes: number) => Uint8Array;
  /** Milliseconds. */
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly log: Log;
  /** The large JSON bodies that this isolate reads at the moment. */
  readonly bodies: BodiesInWork;
  /** `null`: no limit. */
  readonly rateLimiter: RateLimiter | null;
  /** Origins whose pages may call the API from a browser; `*` is all of them. */
  readonly corsOrigins: readonly string[];
  readonly scorer: Scorer;
  /** Script and style of the page at `/docs`. */
  readonly docsAssets: { readonly script: string; readonly style: string };
}

/** For reads that compare stored times with D1's clock. */
export type Reader = Pick<ApiContext, "db" | "databaseTime">;

/** D1's time, in milliseconds since the epoch. */
export function readNow({ db, databaseTime }: Reader): Promise<number> {
  return readTime(db, databaseTime());
}

/** A request with a valid key, as the handler of its route gets it. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  /** From the path, decoded once. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly key: ApiKey;
}

/** What a route does with a request. */
export type Handler = (context: ApiContext, call: Call) => Promise<Result<Response, Problem>>;
