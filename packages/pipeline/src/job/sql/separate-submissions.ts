import { sql, type SQL } from "drizzle-orm";
import type { JobId, SubmissionId } from "@sluice/core";
import { type Database, transact } from "@sluice/db";
import { firstSubmissionScope, holdingBy } from "./pause-dispatching.ts";

/**
 * Moves what some submissions have in a pending job into a job of its own, held by their pause, so that the
 * rest can be dispatched without it. Gives how much of the job is left to it: `all` (they have nothing
 * in it), `some`, or `none` (it holds nothing else: then nothing is moved). `under_way`: a dispatch was
 * started, and its list is not the job's to change.
 * Repeated with the same id it changes nothing more. Reads two rows a document moved.
 */
export async function separateSubmissions(
  db: Database,
  job: { readonly id: JobId; readonly dispatchNumber: number; readonly status: "pending" | "dispatching" },
  submissions: readonly SubmissionId[],
  apart: JobId,
  now: number,
): Promise<"all" | "some" | "none" | "under_way"> {
  const { pausedBy, dueAt } = holdingBy(firstSubmissionScope(sql`(moved -> 3)`), now, { members: sql`(moved -> 3)` });
  const list = JSON.stringify(submissions);
  const held = sql`j.id = ${job.id} AND j.dispatch_number = ${job.dispatchNumber} AND j.status = 'pending'`;
  const theirs = (value: SQL) => sql`${value} ->> 0 IN (SELECT value FROM json_each(${list}))`;
  const rows = await transact<{ others: number; theirs: number; apart: number }>(db, [
    // Materialized: as a plain subquery it would be worked out anew for each number taken from it.
    sql`
      WITH taken AS MATERIALIZED (
        SELECT j.id, j.model, j.lane, j.round, j.refusals, j.batches, j.halvings, (
            SELECT json_array(count(*), coalesce(sum(d.context_count), 0), coalesce(sum(d.payload_bytes), 0),
              (SELECT json_group_array(json(g.value) ORDER BY g.key) FROM json_each(j.members) g WHERE ${theirs(sql`g.value`)}))
            FROM json_each(j.members) g
            CROSS JOIN submissions s ON s.id = g.value ->> 0
            CROSS JOIN json_each(g.value, '$[1]') i
            CROSS JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id
            WHERE ${theirs(sql`g.value`)}
          ) AS moved
        FROM jobs j
        WHERE ${held}
          AND EXISTS (SELECT 1 FROM json_each(j.members) g WHERE ${theirs(sql`g.value`)})
          AND EXISTS (SELECT 1 FROM json_each(j.members) g WHERE NOT ${theirs(sql`g.value`)}))
      INSERT INTO jobs (id, model, lane, status, parent_id, round, refusals, batches, halvings, document_count, context_count, payload_bytes,
        due_at, paused_by, created_at, members)
      SELECT ${apart}, model, lane, 'pending', id, round, refusals, batches, halvings, moved ->> 0, moved ->> 1, moved ->> 2,
        ${dueAt}, ${pausedBy}, ${now}, moved -> 3
      FROM taken
      WHERE true
      ON CONFLICT DO NOTHING`,
    // What they were dispatched with here is theirs too. Only while they are still in it: repeated, they are not.
    sql`
      UPDATE submissions SET unconfirmed_dispatches = submissions.unconfirmed_dispatches + j.unconfirmed_dispatches
      FROM jobs j CROSS JOIN jobs a ON a.id = ${apart}
      WHERE ${held} AND j.unconfirmed_dispatches > 0
        AND submissions.id IN (SELECT g.value ->> 0 FROM json_each(j.members) g WHERE ${theirs(sql`g.value`)})`,
    sql`
      UPDATE jobs AS j SET
        document_count = j.document_count - a.document_count, context_count = j.context_count - a.context_count,
        payload_bytes = j.payload_bytes - a.payload_bytes,
        members = (SELECT json_group_array(json(g.value) ORDER BY g.key) FROM json_each(j.members) g
          WHERE NOT ${theirs(sql`g.value`)})
      FROM jobs a
      WHERE ${held} AND a.id = ${apart}
        AND EXISTS (SELECT 1 FROM json_each(j.members) g WHERE ${theirs(sql`g.value`)})`,
    sql`
      SELECT count(*) FILTER (WHERE NOT ${theirs(sql`g.value`)}) AS others, count(*) FILTER (WHERE ${theirs(sql`g.value`)}) AS theirs,
        EXISTS (SELECT 1 FROM jobs WHERE id = ${apart}) AS apart
      FROM jobs j CROSS JOIN json_each(j.members) g WHERE j.id = ${job.id}`,
  ]);
  const [row] = rows;
  if (row?.apart === 1) return "some";
  if (row === undefined || row.theirs === 0) return "all";
  return row.others === 0 ? "none" : "under_way";
}
