import { aroundDatabase, type DatabaseCall } from "./around-database.ts";

/** How a call fails: it never reached D1, or D1 executed it and the answer was lost. */
export type Fault = "before" | "after";

/** D1's message for an error that may hide a commit. */
const LOST = "D1_ERROR: Network connection lost.";

/**
 * A D1 binding whose calls fail as `faultOf` decides, by a call's number, from 1, and its SQL. `message` is D1's; by
 * default that of a transient error.
 */
export function unreliableDatabase(
  d1: D1Database,
  faultOf: (call: number, sql: string) => Fault | null = () => null,
  message = LOST,
): { d1: D1Database; calls: DatabaseCall[] } {
  const calls: DatabaseCall[] = [];
  const unreliable = aroundDatabase(d1, async (call, run) => {
    calls.push(call);
    const fault = faultOf(calls.length, call.sql);
    if (fault === "before") throw new Error(message);
    const result = await run();
    if (fault === "after") throw new Error(message);
    return result;
  });
  return { d1: unreliable, calls };
}
