import { uuidTail } from "@sluice/core";
import { takeChain } from "./sql/chain.ts";
import type { PollerContext } from "./poller-context.ts";
import { workThrough } from "./run-poller.ts";
import { Share } from "./share.ts";

/**
 * Continues a run that used up its share, in a fresh invocation. Works like a cron run, but writes no heartbeat and
 * does no maintenance of submissions. The token of a message is valid once: a repeated or stale message starts nothing.
 */
export async function continueRun(context: PollerContext, token: string): Promise<void> {
  const share = new Share(context);
  const holder = uuidTail(context.randomBytes(10));
  if (await takeChain(context.db, token, holder, context.databaseTime()))
    await workThrough(context, share, holder, null);
  else context.log({ event: "chain_message_stale" });
}
