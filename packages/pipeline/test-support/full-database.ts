import { aroundDatabase, type DatabaseCall } from "./around-database.ts";

/** D1's message for a write to a database at its maximum size. */
const EXCEEDED = "D1_ERROR: Exceeded maximum DB size: SQLITE_FULL";

/**
 * A D1 binding that refuses every write while `isFull`: reads and deletes work. `refused` are the calls that it refused.
 */
export function fullDatabase(d1: D1Database, isFull: () => boolean): { d1: D1Database; refused: DatabaseCall[] } {
  const refused: DatabaseCall[] = [];
  const full = aroundDatabase(d1, async (call, run) => {
    if (!isFull() || !/\b(?:INSERT|UPDATE)\b/i.test(call.sql)) return run();
    refused.push(call);
    throw new Error(EXCEEDED);
  });
  return { d1: full, refused };
}

/** A D1 binding whose answers have no size of the database. */
export function unsizedDatabase(d1: D1Database): D1Database {
  const unsized = <T>(result: T): T => {
    const { meta } = result as Partial<D1Result>;
    return meta === undefined ? result : { ...result, meta: { ...meta, size_after: 0 } };
  };
  return aroundDatabase(d1, async (_, run) => {
    const answer = await run();
    return Array.isArray(answer) ? (answer.map(unsized) as typeof answer) : unsized(answer);
  });
}
