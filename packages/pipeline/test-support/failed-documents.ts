import { env } from "cloudflare:test";
import type { FailureCode, JobId, SubmissionId } from "@sluice/core";
import type { Database } from "@sluice/db";
import { finalizeJobs } from "../src/score/sql/finalize-jobs.ts";
import { dispatch, jobId, NOW, open, part, record } from "./fixtures.ts";

/** Records a submission with these parts, each in its own job. */
export async function recordedParts(db: Database, parts: readonly (readonly string[])[]) {
  const submission = await open(db, { total: parts.flat().length });
  const jobs: JobId[] = [];
  let index = 0;
  for (const [number, names] of parts.entries()) {
    const job = jobId();
    const documents = names.map((id) => ({ id }));
    await record(db, job, [[part(submission, number, documents, index)]]);
    index += names.length;
    jobs.push(job);
  }
  return { submission, jobs };
}

/** Dispatches a job and ends it with these documents failed. */
export async function failJob(
  db: Database,
  job: JobId,
  submission: SubmissionId,
  documents: readonly string[],
  code: FailureCode = "model_error",
) {
  const outcomes = documents.map((document) => ({ submission, document, code, message: "no" }) as const);
  const end = { status: "succeeded", outcomes, children: [], tokens: null, error: null } as const;
  await dispatch(db, job);
  await finalizeJobs(db, [{ job: { id: job, dispatchNumber: 1, status: "dispatched" }, end }], NOW);
}

/** Records such a submission and ends its jobs with all documents failed. */
export async function failedParts(
  db: Database,
  parts: readonly (readonly string[])[],
  code: FailureCode = "model_error",
) {
  const { submission, jobs } = await recordedParts(db, parts);
  for (const [index, job] of jobs.entries()) await failJob(db, job, submission, parts[index] ?? [], code);
  return { submission, jobs };
}

/** Inserts a submission of failed documents, each root with one part. */
export async function manyFailed(db: Database, roots: number, perRoot: number): Promise<SubmissionId> {
  const count = roots * perRoot;
  const submission = await open(db, { total: count });
  const numbers = (to: number) =>
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${to} - 1)`;
  const id = "printf('d%06d', i)";
  const root = (at: string) => `printf('job_%08d-0000-7000-8000-000000000000', ${at})`;
  await env.DB.batch([
    env.DB.prepare(
      `${numbers(roots)} INSERT INTO jobs (id, model, lane, status, round, dispatch_number, document_count, context_count,
         payload_bytes, created_at, ended_at, members)
       SELECT ${root("i")}, 'm', 'bulk', 'succeeded', 1, 1, 1, 1, 1, 1, 1, '[]' FROM n`,
    ),
    env.DB.prepare(
      `${numbers(roots)} INSERT INTO parts (submission_id, part, job_id, hash, document_count, recorded_at, documents)
       SELECT ?1, i, ${root("i")}, 'h', ${perRoot}, 1,
         (SELECT json_group_array(printf('d%06d', i + ${roots} * value)) FROM json_each(?2)) FROM n`,
    ).bind(submission, JSON.stringify(Array.from({ length: perRoot }, (_, index) => index))),
    // A retry needs the row of their texts, but does not read it.
    env.DB.prepare("INSERT INTO contexts (id, texts, parts) VALUES (1, '[]', '[]') ON CONFLICT DO NOTHING"),
    // The ids of neighbors in a root are far apart.
    env.DB.prepare(
      `${numbers(count)} INSERT INTO documents (collection, document_id, submission_id, part, place, contexts_id,
         contexts_at, payload_bytes, context_count, query)
       SELECT 'default', ${id}, ?1, i % ${roots}, i, 1, i, 10, 1, 'q' FROM n`,
    ).bind(submission),
    env.DB.prepare(
      `${numbers(count)} INSERT INTO outcomes (collection, document_id, submission_id, status, model, attempts, job_id,
         code, message, finalized_at)
       SELECT 'default', ${id}, ?1, 'failed', 'm', 3, ${root(`i % ${roots}`)}, 'model_error', 'm', 1 FROM n`,
    ).bind(submission),
    env.DB.prepare("UPDATE submissions SET recorded = total, failed = total, completed_at = 1").bind(),
  ]);
  return submission;
}
