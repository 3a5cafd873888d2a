import { aroundDatabase, type DatabaseCall } from "./around-database.ts";

/** What goes wrong with a call: it never reached D1, or D1 carried it out and the answer was lost. */
export type Fault = "before" | "after";

/** D1's own words for an error that may hide a commit. */
const LOST = "D1_ERROR: Network connection lost.";

/**
 * A D1 binding whose calls fail as told: `faultOf` is asked with a call's number, from 1, and its SQL.
 * `message` is D1's; by default that of an error which passes.
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
