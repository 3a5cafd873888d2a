import type { SubmissionId } from "@sluice/core";
import * as z from "zod";
import { queryD1 } from "./d1.ts";

const jobSchema = z.object({ id: z.string(), request_id: z.string().nullable(), document_count: z.number() });
export type JobFound = z.output<typeof jobSchema>;

/** The jobs that a submission's parts were packed into. */
export function readJobs(url: string, submission: SubmissionId): Promise<JobFound[]> {
  return queryD1(
    url,
    `SELECT id, request_id, document_count FROM jobs
     WHERE id IN (SELECT job_id FROM parts WHERE submission_id = ?1) ORDER BY id`,
    [submission],
    jobSchema,
  );
}
