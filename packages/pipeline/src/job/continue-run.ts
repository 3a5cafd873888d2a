import { uuidTail } from "@sluice/core";
import { isDatabaseFull } from "@sluice/db";
import { endChain, takeChain } from "./sql/poller-chain.ts";
import type { PollerContext } from "./poller-context.ts";
import { workThrough } from "./run-poller.ts";
import { RunBudget } from "./run-budget.ts";

/**
 * Continues a run that used up its budget, in a fresh invocation. Works like a cron run, but writes no heartbeat and
 * does no maintenance of submissions. The token of a message is valid once: a repeated or stale message starts nothing.
 */
export async function continueRun(context: PollerContext, token: string): Promise<void> {
  const budget = new RunBudget(context);
  const holder = uuidTail(context.randomBytes(10));
  if (!(await takeChain(context.db, token, holder, context.databaseTime())))
    return context.log({ event: "chain_message_stale" });
  try {
    await workThrough(context, budget, holder, null);
  } catch (error) {
    if (!isDatabaseFull(error)) throw error;
    // The next cron run makes room.
    context.log({ event: "database_full", level: "error" });
    await endChain(context.db, holder);
  }
}
