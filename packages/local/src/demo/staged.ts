import type { SubmissionId } from "@sluice/core";
import * as z from "zod";
import { queryD1 } from "./d1.ts";

/**
 * How many parts of a submission wait in D1, being too big for a message: the poller records them,
 * whatever became of the Queue.
 */
export async function stagedParts(url: string, submission: SubmissionId): Promise<number> {
  const [row] = await queryD1(
    url,
    "SELECT count(*) AS parts FROM staged_parts WHERE submission_id = ?1",
    [submission],
    z.object({ parts: z.number() }),
  );
  return row?.parts ?? 0;
}
