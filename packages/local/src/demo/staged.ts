import type { SubmissionId } from "@sluice/core";
import * as z from "zod";
import { queryD1 } from "./d1.ts";

/** A message that cannot be read is no document that anybody waits for: the poller puts it away. */
const DOCUMENTS = "sum(iif(json_valid(body), json_array_length(body, '$.documents'), 0))";

/**
 * Documents of each submission that wait in D1, being too big for a message: the poller records them,
 * whatever became of the Queue.
 */
export async function stagedDocuments(url: string): Promise<ReadonlyMap<string, number>> {
  const rows = await queryD1(
    url,
    `SELECT submission_id, coalesce(${DOCUMENTS}, 0) AS documents FROM staged_parts GROUP BY submission_id`,
    [],
    z.object({ submission_id: z.string(), documents: z.number() }),
  );
  return new Map(rows.map((row) => [row.submission_id, row.documents]));
}

/** How many parts of a submission wait like that. */
export async function stagedParts(url: string, submission: SubmissionId): Promise<number> {
  const [row] = await queryD1(
    url,
    "SELECT count(*) AS parts FROM staged_parts WHERE submission_id = ?1",
    [submission],
    z.object({ parts: z.number() }),
  );
  return row?.parts ?? 0;
}
