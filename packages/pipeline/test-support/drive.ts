import { env } from "cloudflare:test";
import { jobs, RUN, type BatchService, type TestContext } from "./index.ts";
import { continueRun as continueInInvocation } from "../src/job/continue-run.ts";
import { runPoller as runInInvocation } from "../src/job/run-poller.ts";

/** In an invocation of its own: its statements are counted from here. */
async function invoke<Own extends TestContext>(context: Own, run: (context: Own) => Promise<void>): Promise<void> {
  const before = context.statements();
  await run({ ...context, statements: () => context.statements() - before });
}

export const runPoller = (context: TestContext): Promise<void> => invoke(context, runInInvocation);
export const continueRun = (context: TestContext, token: string): Promise<void> =>
  invoke(context, (own) => continueInInvocation(own, token));

/** The poller's next run, a run's interval after the last. */
export async function nextRun(context: TestContext): Promise<void> {
  context.clock.now += RUN;
  await runPoller(context);
}

/** Runs the poller every minute until no job is open; gives how many runs that took. */
export async function runUntilDone(context: TestContext, most = 40): Promise<number> {
  for (let runs = 1; runs <= most; runs += 1) {
    await nextRun(context);
    if ((await jobs(env.DB)).every((job) => job.dueAt === null)) return runs;
  }
  throw new Error(`jobs are open after ${most} runs: ${JSON.stringify(await jobs(env.DB))}`);
}

/** Holds the service's next answers back until they are let go, each answered as it would be then. */
export function hold(service: BatchService, kind: "onSubmit" | "onPoll") {
  const started: (() => void)[] = [];
  const waiters: (() => void)[] = [];
  service[kind] = async () => {
    await new Promise<void>((resolve) => {
      started.push(resolve);
      waiters.shift()?.();
    });
    return undefined;
  };
  return {
    /** Settles with the next call. */
    called: () => new Promise<void>((resolve) => waiters.push(resolve)),
    letGo: () => {
      service[kind] = null;
      for (const resolve of started.splice(0)) resolve();
    },
  };
}
