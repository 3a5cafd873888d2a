import { env } from "cloudflare:test";
import type { DatabaseLevel } from "@sluice/core";
import { RunBudget } from "../src/job/run-budget.ts";
import { retain } from "../src/submission/retention.ts";
import { jobs, RUN, type BatchService, type TestContext } from "./index.ts";
import { continueRun as continueInInvocation } from "../src/job/continue-run.ts";
import { runPoller as runInInvocation } from "../src/job/run-poller.ts";

/** Runs in its own invocation, which counts statements from zero. */
async function invoke<Own extends TestContext>(context: Own, run: (context: Own) => Promise<void>): Promise<void> {
  const before = context.statements();
  await run({ ...context, statements: () => context.statements() - before });
}

export const runPoller = (context: TestContext): Promise<void> => invoke(context, runInInvocation);
export const continueRun = (context: TestContext, token: string): Promise<void> =>
  invoke(context, (own) => continueInInvocation(own, token));

/** Starts the poller's next run, one interval after the last. */
export async function nextRun(context: TestContext): Promise<void> {
  context.clock.now += RUN;
  await runPoller(context);
}

/** Runs the poller every minute until no job is open. Returns the number of runs. */
export async function runUntilDone(context: TestContext, maxRuns = 40): Promise<number> {
  for (let runs = 1; runs <= maxRuns; runs += 1) {
    await nextRun(context);
    if ((await jobs(env.DB)).every((job) => job.dueAt === null)) return runs;
  }
  throw new Error(`jobs are open after ${maxRuns} runs: ${JSON.stringify(await jobs(env.DB))}`);
}

/** Holds the service's next answers until they are released. The answer is computed at the release. */
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
    /** Settles when the next call arrives. */
    called: () => new Promise<void>((resolve) => waiters.push(resolve)),
    release: () => {
      service[kind] = null;
      for (const resolve of started.splice(0)) resolve();
    },
  };
}

/** Runs retention once, in its own invocation, with a full budget. */
export async function runRetention(context: TestContext, level: DatabaseLevel = "normal"): Promise<void> {
  await invoke(context, (own) => retain(own, own.retention, level, new RunBudget(own)));
}
