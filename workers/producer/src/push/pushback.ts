import type { ApiContext } from "../context.ts";

/** How a Queue reports that it is overloaded (Cloudflare's own words). */
const PUSHBACK = /queue is overloaded|too many requests/i;
/** Before each further try: half a minute in all, so that the push does not count as inactive meanwhile. */
const WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000];

/**
 * Sends, and waits while the Queue pushes back. Nothing more of the body is read meanwhile, which slows its sender down.
 * Throws the error of the last try.
 */
export async function sendWithRetries(
  context: Pick<ApiContext, "random" | "log"> & Partial<Pick<ApiContext, "sleep">>,
  send: () => Promise<unknown>,
): Promise<void> {
  for (const wait of context.sleep === undefined ? [] : WAITS_MS) {
    try {
      await send();
      return;
    } catch (error) {
      if (!isPushback(error)) throw error;
      context.log({ event: "queue_pushes_back", wait });
      // Up to a quarter less, so that pushes that were refused together do not return together.
      await context.sleep?.(wait * (1 - (context.random(1)[0] ?? 0) / 1_024));
    }
  }
  await send();
}

function isPushback(error: unknown): boolean {
  return error instanceof Error && PUSHBACK.test(error.message);
}
