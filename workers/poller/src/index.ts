import { consumeEvents } from "@sluice/pipeline/job/consume-events.ts";
import { runPoller, type PollerContext } from "@sluice/pipeline/job/run-poller.ts";
import { settleDelivery } from "@sluice/pipeline/message/delivery.ts";
import { contextOf, databaseLimit, milliseconds, type ContextEnv } from "@sluice/pipeline/platform/context-of.ts";
import { retainWith } from "@sluice/pipeline/submission/retention.ts";
import { retentionSettings, type RetentionVariables } from "@sluice/pipeline/submission/retention-rules.ts";
import { RowReporter } from "@sluice/pipeline/platform/row-reporter.ts";
import { runLogged } from "@sluice/pipeline/platform/run-logged.ts";

interface PollerEnv extends ContextEnv, RetentionVariables {
  /** Minutes after which a batch without an answer is dispatched again. */
  readonly STUCK_AFTER_MINUTES: string;
  /** Retention and pushback keep the database below this size. */
  readonly MAX_DATABASE_BYTES: string;
  /** The queue for Workers AI's events, and for the messages that continue a run. */
  readonly EVENTS: Queue;
}

function pollerContext(env: PollerEnv): PollerContext {
  return {
    ...contextOf(env),
    stuckAfter: milliseconds("STUCK_AFTER_MINUTES", env.STUCK_AFTER_MINUTES, 60_000),
    maxDatabaseBytes: databaseLimit(env.MAX_DATABASE_BYTES),
    retain: retainWith(retentionSettings(env)),
    continueLater: async (token) => {
      await env.EVENTS.send({ kind: "continue_run", token });
    },
    sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  };
}

/** In milliseconds. It runs every minute, and a run with nothing due should remain one D1 call. */
const ROWS_INTERVAL_MS = 5 * 60_000;
const rows = new RowReporter("poller", ROWS_INTERVAL_MS);

/** The poller: polls, finalizes and redispatches jobs, every minute and when Workers AI reports a batch. */
export default {
  async scheduled(_controller, env) {
    const context = pollerContext(env);
    await runLogged("poller_run_broke_off", context.log, () => runPoller(context));
    await rows.report(context);
  },
  async queue(batch, env) {
    const context = pollerContext(env);
    const decisions = await runLogged("events_broke_off", context.log, () => consumeEvents(context, batch.messages));
    settleDelivery(batch.messages, decisions);
    await rows.report(context);
  },
} satisfies ExportedHandler<PollerEnv>;
