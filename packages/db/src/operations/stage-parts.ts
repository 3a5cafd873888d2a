import { sql } from "drizzle-orm";
import type { SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { query } from "../statements.ts";

/** Keeps the body of a part that no message can hold. Staging it again changes nothing. */
export async function stagePart(db: Database, id: SubmissionId, part: number, body: string, now: number): Promise<void> {
  await query(db, sql`
    INSERT INTO staged_parts (submission_id, part, staged_at, body) VALUES (${id}, ${part}, ${now}, ${body})
    ON CONFLICT DO NOTHING`);
}

/** The body of a staged part, or `null` when it was recorded already or never staged. */
export async function readStagedPart(db: Database, id: SubmissionId, part: number): Promise<string | null> {
  const [row] = await query<{ body: string }>(db, sql`
    SELECT body FROM staged_parts WHERE submission_id = ${id} AND part = ${part}`);
  return row?.body ?? null;
}
