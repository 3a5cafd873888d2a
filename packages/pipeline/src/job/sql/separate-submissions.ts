import { sql } from "drizzle-orm";
import type { JobId, SubmissionId } from "@sluice/core";
import { type Database, transact } from "@sluice/db";
import { firstSubmissionScope, holdingBy } from "./pause-dispatching.ts";
import { columns } from "../../platform/sql/columns.ts";
import { isMemberDocument, memberDocuments, memberSubmission } from "./members.ts";

/** The documents to move: their weight, and the entries of the job's list. */
const MOVED = columns("documents", "contexts", "bytes", "members");

/**
 * Moves the documents of some submissions from a pending job into a separate job, held by their pause, so that the rest
 * can be dispatched. Returns how much the job keeps: `all` if it has none of their documents, `some`, or `none` if it
 * has only theirs, and then nothing is moved. Returns `under_way` if a dispatch was started, because its list must not
 * change. A repeated call with the same id changes nothing. Reads two rows per document.
 */
export async function separateSubmissions(
  db: Database,
  job: { readonly id: JobId; readonly dispatchNumber: number; readonly status: "pending" | "dispatching" },
  submissions: readonly SubmissionId[],
  apart: JobId,
  now: number,
): Promise<"all" | "some" | "none" | "under_way"> {
  const moved = MOVED.row(sql`moved`);
  const members = sql`(${moved.json("members")})`;
  const { pausedBy, dueAt } = holdingBy(firstSubmissionScope(members), now, { members });
  const list = JSON.stringify(submissions);
  const held = sql`j.id = ${job.id} AND j.dispatch_number = ${job.dispatchNumber} AND j.status = 'pending'`;
  const theirs = sql`${memberSubmission} IN (SELECT value FROM json_each(${list}))`;
  const rows = await transact<{ others: number; theirs: number; apart: number }>(db, [
    // Materialized, because a plain subquery would be evaluated again for each number read from it.
    sql`
      WITH taken AS MATERIALIZED (
        SELECT j.id, j.model, j.lane, j.round, j.refusals, j.batches, j.halvings, (
            SELECT ${MOVED.array({
              documents: sql`count(*)`,
              contexts: sql`coalesce(sum(d.context_count), 0)`,
              bytes: sql`coalesce(sum(d.payload_bytes), 0)`,
              members: sql`(SELECT json_group_array(json(g.value) ORDER BY g.key) FROM json_each(j.members) g WHERE ${theirs})`,
            })}
            FROM json_each(j.members) g
            CROSS JOIN submissions s ON s.id = ${memberSubmission}
            CROSS JOIN ${memberDocuments} i
            CROSS JOIN documents d ON ${isMemberDocument}
            WHERE ${theirs}
          ) AS moved
        FROM jobs j
        WHERE ${held}
          AND EXISTS (SELECT 1 FROM json_each(j.members) g WHERE ${theirs})
          AND EXISTS (SELECT 1 FROM json_each(j.members) g WHERE NOT ${theirs}))
      INSERT INTO jobs (id, model, lane, status, parent_id, round, refusals, batches, halvings, document_count, context_count, payload_bytes,
        due_at, paused_by, created_at, members)
      SELECT ${apart}, model, lane, 'pending', id, round, refusals, batches, halvings, ${moved("documents")}, ${moved("contexts")}, ${moved("bytes")},
        ${dueAt}, ${pausedBy}, ${now}, ${moved.json("members")}
      FROM taken
      WHERE true
      ON CONFLICT DO NOTHING`,
    // The job's unconfirmed dispatches count for them too, but only while they are still in it: after a repeat they are
    // not.
    sql`
      UPDATE submissions SET unconfirmed_dispatches = submissions.unconfirmed_dispatches + j.unconfirmed_dispatches
      FROM jobs j CROSS JOIN jobs a ON a.id = ${apart}
      WHERE ${held} AND j.unconfirmed_dispatches > 0
        AND submissions.id IN (SELECT ${memberSubmission} FROM json_each(j.members) g WHERE ${theirs})`,
    // Counted again, because the list may have documents that were deleted since: subtracted, they would stay counted.
    sql`
      UPDATE jobs AS j SET
        (document_count, context_count, payload_bytes) = (
          SELECT count(*), coalesce(sum(d.context_count), 0), coalesce(sum(d.payload_bytes), 0)
          FROM json_each(j.members) g
          CROSS JOIN submissions s ON s.id = ${memberSubmission}
          CROSS JOIN ${memberDocuments} i
          CROSS JOIN documents d ON ${isMemberDocument}
          WHERE NOT ${theirs}),
        members = (SELECT json_group_array(json(g.value) ORDER BY g.key) FROM json_each(j.members) g
          WHERE NOT ${theirs})
      FROM jobs a
      WHERE ${held} AND a.id = ${apart}
        AND EXISTS (SELECT 1 FROM json_each(j.members) g WHERE ${theirs})`,
    sql`
      SELECT count(*) FILTER (WHERE NOT ${theirs}) AS others, count(*) FILTER (WHERE ${theirs}) AS theirs,
        EXISTS (SELECT 1 FROM jobs WHERE id = ${apart}) AS apart
      FROM jobs j CROSS JOIN json_each(j.members) g WHERE j.id = ${job.id}`,
  ]);
  const [row] = rows;
  if (row?.apart === 1) return "some";
  if (row === undefined || row.theirs === 0) return "all";
  return row.others === 0 ? "none" : "under_way";
}
