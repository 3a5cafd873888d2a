import type { ApiContext } from "../context.ts";

/** What a Queue says when it is given more than it takes in for now (Cloudflare's own words). */
const PUSHBACK = /queue is overloaded|too many requests/i;
/** Milliseconds before each further try: half a minute in all, so that the push stays alive meanwhile. */
const WAITS = [500, 1_000, 2_000, 4_000, 8_000, 16_000];

/**
 * Sends, and waits out a Queue that pushes back. This is what slows a reader down: nothing more of the
 * body is read meanwhile. Throws what the last try threw.
 */
export async function sendWithRetries(
  io: Pick<ApiContext, "random" | "log"> & Partial<Pick<ApiContext, "sleep">>,
  send: () => Promise<unknown>,
): Promise<void> {
  for (const wait of io.sleep === undefined ? [] : WAITS) {
    try {
      await send();
      return;
    } catch (error) {
      if (!isPushback(error)) throw error;
      io.log({ event: "queue_pushes_back", wait });
      // Up to a quarter less, so that pushes that were turned away together do not come back together.
      await io.sleep?.(wait * (1 - (io.random(1)[0] ?? 0) / 1_024));
    }
  }
  await send();
}

function isPushback(error: unknown): boolean {
  return error instanceof Error && PUSHBACK.test(error.message);
}
