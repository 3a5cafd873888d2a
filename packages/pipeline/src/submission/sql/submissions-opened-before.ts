import { sql, type SQL } from "drizzle-orm";
import { WRONG_CLOCK_MS } from "../lifetimes.ts";
import { submissionIdAt } from "./open-submission.ts";

/**
 * The next submissions by id after `through` that were opened before a time, at most `limit`, up to the first one that
 * was not. After the clock was set back, ids can be ahead of it. A submission is never opened later than its id says,
 * so an id behind the clock decides. Reads at most `limit` rows, twice.
 */
export function submissionsOpenedBefore(time: number, through: SQL, limit: number): SQL {
  const next = sql`
    SELECT id, created_at FROM submissions WHERE id >= max(${submissionIdAt(time)}, ${through}) ORDER BY id LIMIT ${limit}`;
  const end = sql`
    (SELECT id FROM (${next}) WHERE created_at >= ${time} AND created_at < ${time + WRONG_CLOCK_MS} LIMIT 1)`;
  return sql`
    SELECT * FROM submissions WHERE id > ${through} AND id < coalesce(${end}, 'sub_g') ORDER BY id LIMIT ${limit}`;
}
