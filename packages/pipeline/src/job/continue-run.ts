import { uuidTail } from "@sluice/core";
import { takeChain } from "./sql/poller-chain.ts";
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
  if (await takeChain(context.db, token, holder, context.databaseTime()))
    await workThrough(context, budget, holder, null);
  else context.log({ event: "chain_message_stale" });
}
