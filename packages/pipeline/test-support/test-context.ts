import { countStatements, openDatabase, type RetryPolicy } from "@sluice/db";
import type { BatchBinding } from "@sluice/inference";
import { MemoryLimit } from "../src/platform/memory.ts";
import { mintNumber } from "./minted.ts";
import { retentionSettings, type RetentionSettings } from "../src/submission/retention-rules.ts";
import type { PollerContext } from "../src/job/poller-context.ts";
import type { LogEvent, Context } from "../src/platform/context.ts";

/** 2026-09-21T14:13:20Z. */
export const NOW = 1_790_000_000_000;
export const MIDNIGHT = Date.UTC(2026, 8, 22);
export const RUN = 60_000;

/** An error of D1 reaches the caller immediately. */
export const impatient: RetryPolicy = { tries: 1, bounded: (call) => call(), rest: () => Promise.resolve() };

/** The outside world of a step, controlled by a test. */
export interface TestContext extends Context {
  readonly stuckAfter: number;
  readonly retention: RetentionSettings;
  readonly maxDatabaseBytes: number;
  readonly retain: PollerContext["retain"];
  readonly continueLater: (token: string) => Promise<void>;
  /** Advances the clock. */
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** The tokens passed to `continueLater`. */
  readonly continued: string[];
  /** The value that `now` returns. A test changes it. */
  readonly clock: { now: number };
  readonly events: LogEvent[];
}

/** Generates unique, rising bytes: ids minted later are greater. */
function risingBytes(count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  new DataView(bytes.buffer).setUint32(count - 4, mintNumber());
  return bytes;
}

export function testContext(
  d1: D1Database,
  ai: BatchBinding,
  more: { readonly retryPolicy?: RetryPolicy } = {},
): TestContext {
  const clock = { now: NOW };
  const events: LogEvent[] = [];
  const continued: string[] = [];
  const db = openDatabase(d1, more.retryPolicy ?? impatient);
  return {
    db,
    statements: () => countStatements(db),
    memory: new MemoryLimit(),
    ai,
    bounded: (call) => call,
    now: () => clock.now,
    databaseTime: () => clock.now,
    random: () => 0.5,
    randomBytes: risingBytes,
    runInterval: RUN,
    stuckAfter: 60 * 60_000,
    retention: retentionSettings({ RETAIN_TEXTS_DAYS: "7", RETAIN_HISTORY_DAYS: "30", RETAIN_SCORES_DAYS: "" }),
    maxDatabaseBytes: 9_500_000_000,
    retain: null,
    continueLater: async (token) => {
      continued.push(token);
    },
    continued,
    sleep: async (milliseconds) => {
      clock.now += milliseconds;
    },
    log: (event) => events.push(event),
    clock,
    events,
  };
}
