import type { PollerIo } from "./run-poller.ts";

/**
 * Continues a run that used up its share, in a fresh invocation. No run hands on yet, so no token is valid and the
 * message starts nothing.
 */
export async function continueRun(io: PollerIo, token: string): Promise<void> {
  io.log({ event: "chain_message_stale", token });
}
