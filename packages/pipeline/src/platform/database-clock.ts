import { readTime } from "./clock.ts";
import type { Context } from "./context.ts";

/** A reading that took longer says too little, and is taken again. Milliseconds. */
const MAX_READING_MS = 10_000;
const MAX_READINGS = 3;

/**
 * The same with D1's clock in place of the isolate's, which may be hours off: leases, ages and times that several
 * Workers compare are of one clock. Off by half of what the reading took at most, so by 5 s. One call to D1, three
 * if they are slow; throws if all of them are slower than that.
 */
export async function withDatabaseClock<Own extends Context>(context: Own): Promise<Own> {
  for (let readings = 1; ; readings += 1) {
    const before = context.now();
    const time = await readTime(context.db, context.databaseTime());
    const took = context.now() - before;
    if (took > MAX_READING_MS && readings < MAX_READINGS) continue;
    if (took > MAX_READING_MS) throw new Error("D1 takes too long to give its time");
    const ahead = Math.round(time - (before + took / 2));
    return { ...context, now: () => context.now() + ahead };
  }
}
