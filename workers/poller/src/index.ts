import { CALL_TIMEOUT } from "@sluice/core";
import { openDatabase } from "@sluice/db";
import { asBatchBinding, boundedBy } from "@sluice/inference";
import type { PollerEnv } from "./env.ts";
import { runPoller } from "./run-poller.ts";

/** The poller: every minute, what is due is polled, finalized, or dispatched again. */
export default {
  async scheduled(_controller, env) {
    await runPoller({
      db: openDatabase(env.DB),
      ai: asBatchBinding(env.AI),
      bounded: boundedBy(CALL_TIMEOUT),
      now: Date.now,
      random: Math.random,
      randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
      runInterval: Number(env.RUN_INTERVAL_SECONDS) * 1_000,
      stuckAfter: Number(env.STUCK_AFTER_MINUTES) * 60_000,
      log: (event) => console.log(JSON.stringify(event)),
    });
  },
} satisfies ExportedHandler<PollerEnv>;
