import { readTime } from "./clock.ts";
import type { Context } from "./context.ts";

/** A reading that took longer is too inexact and is repeated. Milliseconds. */
const MAX_READING_MS = 10_000;
const MAX_READINGS = 3;

/**
 * Returns the context with D1's clock instead of the isolate's, which may be hours off: several Workers compare leases,
 * ages and times. The error is at most half the time of the reading, so at most 5 s. One call to D1, up to three if
 * they are slow. Throws if all three are too slow.
 */
export async function withDatabaseClock<Own extends Context>(context: Own): Promise<Own> {
  for (let readings = 1; ; readings += 1) {
    const before = context.now();
    const time = await readTime(context.db, context.databaseTime());
    const took = context.now() - before;
    if (took > MAX_READING_MS && readings < MAX_READINGS) continue;
    if (took > MAX_READING_MS) throw new Error("D1 is too slow to return its time");
    const ahead = Math.round(time - (before + took / 2));
    return { ...context, now: () => context.now() + ahead };
  }
}
