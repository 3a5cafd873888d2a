import { callTimeout } from "../job/schedule.ts";
import { countStatements, openDatabase, type KnownSize } from "@sluice/db";
import { D1_TIME } from "./clock.ts";
import { asBatchBinding, boundedBy } from "@sluice/inference";
import type { Context } from "./context.ts";
import { MAX_D1_BYTES } from "./database-level.ts";
import { MemoryLimit } from "./memory.ts";

/** The bindings that the consumer and the poller share, as named in their wrangler.jsonc. */
export interface ContextEnv {
  readonly DB: D1Database;
  /** Workers AI, or locally the stand-in. */
  readonly AI: unknown;
  /** Seconds between two runs of the poller: the cron's interval. */
  readonly RUN_INTERVAL_SECONDS: string;
}

/** The memory limit of this isolate. */
export const isolateMemory = new MemoryLimit();

/** The size of the database that D1 reported last to this isolate. */
export const isolateSize: KnownSize = { bytes: null, at: 0 };

/** Creates the context of a Worker's steps from its bindings. Throws if the configuration is invalid. */
export function contextOf(env: ContextEnv): Context {
  const runInterval = milliseconds("RUN_INTERVAL_SECONDS", env.RUN_INTERVAL_SECONDS, 1_000);
  const db = openDatabase(env.DB, undefined, isolateSize);
  return {
    db,
    statements: () => countStatements(db),
    memory: isolateMemory,
    ai: asBatchBinding(env.AI),
    bounded: boundedBy(callTimeout(runInterval)),
    now: Date.now,
    databaseTime: () => D1_TIME,
    random: Math.random,
    randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
    runInterval,
    log: (event) => {
      if (event["level"] === "error") console.error(JSON.stringify(event));
      else console.log(JSON.stringify(event));
    },
  };
}

/** Reads the variable `MAX_DATABASE_BYTES`. D1 allows 10 GB per database. */
export function databaseLimit(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= MAX_D1_BYTES)) {
    const range = `a number above 0, and at most ${MAX_D1_BYTES}, the limit of D1`;
    throw new Error(`The variable MAX_DATABASE_BYTES must be ${range}, but is ${JSON.stringify(text)}.`);
  }
  return value;
}

/** Reads a variable that holds a positive number of `unit` milliseconds. */
export function milliseconds(name: string, text: string, unit: number): number {
  const value = Number(text) * unit;
  if (!(value > 0)) throw new Error(`The variable ${name} must be a number above 0, but is ${JSON.stringify(text)}.`);
  return value;
}
