import { err, ok, parseJobId, type Result } from "@sluice/core";
import { readJob, type JobRow } from "@sluice/pipeline/job/sql/read-jobs.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { readNow, type Reader } from "../context.ts";
import { allowsCollection, type ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { jobShape, submissionsOf, type JobShape } from "../shapes/job.ts";

interface Input {
  readonly key: ApiKey;
  readonly id: string;
}

export async function getJob(context: Reader, { key, id: text }: Input): Promise<Result<JobShape, Problem>> {
  const { db } = context;
  const id = parseJobId(text);
  const row = id === null ? null : await readJob(db, id);
  if (row === null || !maySeeJob(key, row)) {
    return err({ name: "not-found", detail: "No job has this id." });
  }
  const now = await readNow(context);
  return ok(jobShape(row, await readPauses(db, now), now));
}

/** Submissions share jobs: a key sees the jobs that hold documents of its collections. */
export function maySeeJob(key: ApiKey, row: JobRow): boolean {
  return key.collections === null || submissionsOf(row).some(([, collection]) => allowsCollection(key, collection));
}
