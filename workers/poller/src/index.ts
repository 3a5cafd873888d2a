import { milliseconds, contextOf, type ContextEnv } from "@sluice/pipeline/platform/context-of.ts";
import { runLogged } from "@sluice/pipeline/platform/run-logged.ts";
import { settleDelivery } from "@sluice/pipeline/message/delivery.ts";
import { consumeEvents } from "@sluice/pipeline/job/consume-events.ts";
import { runPoller, type PollerContext } from "@sluice/pipeline/job/run-poller.ts";

interface PollerEnv extends ContextEnv {
  /** A batch without an answer for this long is dispatched again. */
  readonly STUCK_AFTER_MINUTES: string;
  /** The queue that events of Workers AI arrive in. Runs that hand on send their messages to it too. */
  readonly EVENTS: Queue;
}

function pollerContext(env: PollerEnv): PollerContext {
  return {
    ...contextOf(env),
    stuckAfter: milliseconds("STUCK_AFTER_MINUTES", env.STUCK_AFTER_MINUTES, 60_000),
    continueLater: async (token) => {
      await env.EVENTS.send({ kind: "continue_run", token });
    },
    sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  };
}

/** The poller: every minute, and when Workers AI reports a batch, jobs are polled, finalized, or dispatched again. */
export default {
  async scheduled(_controller, env) {
    const context = pollerContext(env);
    await runLogged("poller_run_broke_off", context.log, () => runPoller(context));
  },
  async queue(batch, env) {
    const context = pollerContext(env);
    const decisions = await runLogged("events_broke_off", context.log, () => consumeEvents(context, batch.messages));
    settleDelivery(batch.messages, decisions);
  },
} satisfies ExportedHandler<PollerEnv>;
