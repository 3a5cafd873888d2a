import { countFailures, type SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import { readHoldingJobs, type HoldingJob } from "@sluice/pipeline/job/sql/read-holding-jobs.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { readRetryProgress } from "@sluice/pipeline/submission/sql/request-retry.ts";
import { readWaitingJobs } from "@sluice/pipeline/job/sql/read-waiting-jobs.ts";
import type { DocumentRow } from "@sluice/pipeline/document/sql/read-document.ts";
import { readNow, type Reader } from "./context.ts";
import { documentJson, documentShape, rootJob, type DocumentView } from "./shapes/document.ts";
import { processing, submissionShape, type SubmissionShape } from "./shapes/submission.ts";

/** Submissions in the shape that every route returns, with their failures, retries, jobs and pauses: at most five queries. */
export async function describeSubmissions(reader: Reader, rows: readonly SubmissionRow[]): Promise<SubmissionShape[]> {
  const { db, databaseTime } = reader;
  const open = rows.filter((row) => row.completedAt === null || row.isRetrying);
  const failed = rows.filter((row) => row.failed > 0).map((row) => row.id);
  const retried = rows.filter((row) => row.isRetrying).map((row) => row.id);
  const waiting = open.filter((row) => processing(row) > 0).map((row) => row.id);
  const [failures, retries, jobs, pauses, now] = await Promise.all([
    failed.length > 0 ? countFailures(db, failed) : [],
    retried.length > 0 ? readRetryProgress(db, retried) : [],
    readWaitingJobs(db, waiting),
    open.length > 0 ? readPauses(db, databaseTime()) : [],
    open.length > 0 ? readNow(reader) : 0,
  ]);
  return rows.map((row) =>
    submissionShape(
      row,
      {
        failures: failures.filter((failure) => failure.submission === row.id),
        retry: retries.find((retry) => retry.submission === row.id) ?? null,
        jobs: jobs.filter((job) => job.submission === row.id),
        pauses,
      },
      now,
    ),
  );
}

export async function describeSubmission(reader: Reader, row: SubmissionRow): Promise<SubmissionShape> {
  const [shape] = await describeSubmissions(reader, [row]);
  if (shape === undefined) throw new Error("a row has no shape");
  return shape;
}

/** Documents as JSON text in the shape that every route returns; open ones with the job that holds them. */
export async function describeDocuments(
  reader: Reader,
  rows: readonly DocumentRow[],
  view: DocumentView,
): Promise<string[]> {
  const { db, databaseTime } = reader;
  const open = rows.filter((row) => row.status === null);
  // If its first job has ended or was divided, a follow-up job may hold it.
  const passedOn = open.flatMap((row) =>
    row.rootJobId !== null && rootJob(row) === null
      ? [{ root: row.rootJobId, submission: row.submissionId, id: row.documentId }]
      : [],
  );
  const [holding, pauses, now] = await Promise.all([
    readHoldingJobs(db, passedOn),
    open.length > 0 ? readPauses(db, databaseTime()) : [],
    open.length > 0 ? readNow(reader) : 0,
  ]);
  const jobs = new Map<string, HoldingJob>(holding.map((job) => [`${job.submission}\n${job.document}`, job]));
  return rows.map((row) => {
    const job = rootJob(row) ?? jobs.get(`${row.submissionId}\n${row.documentId}`) ?? null;
    const shape = documentShape(row, row.status === null ? job : null, view, { now, pauses });
    return documentJson(shape, row, view);
  });
}
