import { milliseconds, runLogged, stepIo, type StepEnv } from "@sluice/dispatch";
import { runPoller } from "./run-poller.ts";

interface PollerEnv extends StepEnv {
  /** A batch without an answer for this long is dispatched again. */
  readonly STUCK_AFTER_MINUTES: string;
}

/** The poller: every minute, what is due is polled, finalized, or dispatched again. */
export default {
  async scheduled(_controller, env) {
    const io = {
      ...stepIo(env),
      stuckAfter: milliseconds("STUCK_AFTER_MINUTES", env.STUCK_AFTER_MINUTES, 60_000),
    };
    await runLogged("poller_run_broke_off", io.log, () => runPoller(io));
  },
} satisfies ExportedHandler<PollerEnv>;
