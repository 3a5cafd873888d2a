import type { Job, Sluice } from "@sluice/client/library";

/** Counts of what the API returns for a submission. */
export interface ReadBack {
  /** Recorded documents. */
  readonly documents: number;
  /** Recorded documents that have ended. */
  readonly ended: number;
  readonly scores: number;
  /** The jobs that hold its documents now, or held them at the end. */
  readonly jobIds: ReadonlySet<string>;
}

/** Reads every document of a submission. */
export async function readBack(client: Pick<Sluice, "results">, id: string, signal: AbortSignal): Promise<ReadBack> {
  const jobIds = new Set<string>();
  let [documents, ended, scores] = [0, 0, 0];
  for await (const document of client.results(id, { signal })) {
    documents += 1;
    if (document.finalized_at !== null) ended += 1;
    if (document.scored_submission_id === id) scores += document.scores.length;
    if (document.job_id !== null) jobIds.add(document.job_id);
  }
  return { documents, ended, scores, jobIds };
}

/** Reads jobs by id. */
export function readJobs(client: Pick<Sluice, "job">, ids: Iterable<string>, signal: AbortSignal): Promise<Job[]> {
  return Promise.all(Array.from(ids, (id) => client.job(id, { signal })));
}

/** Reads jobs by id and the jobs they replace: each of them was dispatched and paid for. */
export async function readJobsWithParents(
  client: Pick<Sluice, "job">,
  ids: Iterable<string>,
  signal: AbortSignal,
): Promise<Job[]> {
  const found = new Map<string, Job>();
  for (let wanted = new Set(ids); wanted.size > 0;) {
    const jobs = await readJobs(client, wanted, signal);
    for (const job of jobs) found.set(job.id, job);
    const parents = jobs.flatMap(({ parent_id: parent }) => (parent === null || found.has(parent) ? [] : parent));
    wanted = new Set(parents);
  }
  return [...found.values()];
}
