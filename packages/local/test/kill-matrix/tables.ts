import { expect } from "vitest";
import * as z from "zod";
import type { Machine } from "./machine.ts";

/** Submission ids, as a JSON list for SQL. */
const THESE = "(SELECT value FROM json_each(?1))";

/**
 * Advances time until nothing of these submissions is open or left behind, and checks that the counts match the rows.
 */
export async function checkTables(machine: Machine, submissions: readonly string[]): Promise<void> {
  const list = JSON.stringify(submissions);
  const open = async () =>
    machine.sql(
      `SELECT id, status FROM jobs WHERE due_at IS NOT NULL
         AND EXISTS (SELECT 1 FROM json_each(members) g WHERE g.value ->> 0 IN ${THESE})
       UNION ALL SELECT id, 'not completed' FROM submissions WHERE completed_at IS NULL AND id IN ${THESE}
       UNION ALL SELECT submission_id || '/' || part, 'staged' FROM staged_parts WHERE submission_id IN ${THESE}`,
      z.object({ id: z.string(), status: z.string() }),
      list,
    );
  try {
    await machine.tickUntil("nothing is open", async () => (await open()).length === 0);
  } catch (error) {
    expect(await open(), String(error)).toEqual([]);
  }
  const counts = await machine.sql(
    `SELECT id, total, recorded, succeeded, failed, canceled, lost,
       (SELECT count(*) FROM parts p CROSS JOIN json_each(p.documents) WHERE p.submission_id = s.id) AS inParts,
       (SELECT count(*) FROM documents d WHERE d.submission_id = s.id) AS documents,
       (SELECT json_group_object(status, ended) FROM (
         SELECT status, count(*) AS ended FROM outcomes WHERE submission_id = s.id GROUP BY status)) AS outcomes
     FROM submissions s WHERE id IN ${THESE}`,
    countsSchema,
    list,
  );
  expect(counts).toHaveLength(submissions.length);
  for (const { id, total, recorded, lost, inParts, documents, outcomes, ...ended } of counts) {
    expect(recorded + lost, `recorded and lost documents of ${id}`).toBe(total);
    expect(recorded, `recorded documents of ${id}`).toBe(inParts);
    // A document deleted before its end counts as canceled, and has neither input nor outcome.
    const { succeeded = 0, failed = 0, canceled = 0 } = outcomes;
    const counted = { succeeded, failed, canceled: canceled + recorded - documents };
    expect(ended, `documents of ${id} by end`).toEqual(counted);
    expect(succeeded + failed + canceled, `outcomes of ${id}`).toBe(documents);
  }
  const malformed = await machine.sql("SELECT queue, reason FROM malformed_messages", z.unknown());
  expect(malformed, "valid messages quarantined as malformed").toEqual([]);
}

const countsSchema = z.object({
  id: z.string(),
  total: z.number(),
  recorded: z.number(),
  lost: z.number(),
  succeeded: z.number(),
  failed: z.number(),
  canceled: z.number(),
  inParts: z.number(),
  documents: z.number(),
  outcomes: z.string().transform((text) => z.record(z.string(), z.number()).parse(JSON.parse(text))),
});
