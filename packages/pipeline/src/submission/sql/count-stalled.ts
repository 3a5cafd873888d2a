import { sql, type SQL } from "drizzle-orm";
import { type Database, query } from "@sluice/db";
import { STALLED_AFTER_MS } from "../lifetimes.ts";

export interface Stalled {
  readonly submissions: number;
  /** Their documents that are not recorded. */
  readonly documents: number;
  /** The last activity of the one that has been inactive longest; null if there is none. */
  readonly since: number | null;
}

/**
 * Counts stalled submissions. Reads the oldest `limit` submissions that the sweep watches: one that has stalled within
 * the last five minutes may not be among them.
 */
export async function countStalled(db: Database, now: number, limit: number): Promise<Stalled> {
  const [row] = await query<Stalled>(db, stalledSubmissions(now, limit));
  return row ?? { submissions: 0, documents: 0, since: null };
}

/** The statement of `countStalled`. */
export function stalledSubmissions(now: number, limit: number): SQL {
  return sql`
    SELECT count(*) AS submissions, coalesce(sum(s.total - s.recorded - s.lost), 0) AS documents,
      min(max(s.closed_at, s.active_at)) AS since
    FROM (SELECT submission_id FROM watched_submissions ORDER BY submission_id LIMIT ${limit}) w
    CROSS JOIN submissions s ON s.id = w.submission_id
    WHERE s.recorded + s.lost < s.total AND max(s.closed_at, s.active_at) < ${now - STALLED_AFTER_MS}`;
}
