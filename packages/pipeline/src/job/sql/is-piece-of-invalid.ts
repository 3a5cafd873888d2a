import { sql } from "drizzle-orm";
import type { JobId } from "@sluice/core";
import { type Database, query } from "@sluice/db";

/**
 * Whether a job holds several documents of a batch that was split as invalid, so one of them may be the bad one. Reads
 * the job and its ancestors, about ten rows.
 */
export async function isPieceOfInvalid(db: Database, id: JobId): Promise<boolean> {
  const rows = await query(
    db,
    sql`
    WITH RECURSIVE line (id, parent_id) AS (
      SELECT id, parent_id FROM jobs WHERE id = ${id} AND document_count > 1
      UNION
      SELECT j.id, j.parent_id FROM line CROSS JOIN jobs j ON j.id = line.parent_id)
    SELECT 1 FROM line CROSS JOIN jobs j ON j.id = line.id
    WHERE j.status = 'split' AND j.dispatches ->> '$[#-1].error.reason' = 'invalid' LIMIT 1`,
  );
  return rows.length > 0;
}
