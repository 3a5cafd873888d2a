import { jobStatuses, lanes, parseJobId, type JobId } from "@sluice/core";
import { listJobs as readJobs, readJob, type JobRow } from "@sluice/pipeline/job/sql/read-jobs.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import * as z from "zod";
import { readNow, type Call, type ApiContext } from "../context.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { allowsCollection, type ApiKey } from "../http/keys.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { DEFAULT_LIMIT, cursorParameter, limitParameter, oneOf, parseQuery } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";
import { scanNewest } from "../scan-newest.ts";
import { jobShape, submissionsOf } from "../shapes/job.ts";
import { noQuery } from "./get-submission.ts";

export const jobsQuery = z.strictObject({
  status: oneOf(jobStatuses).optional(),
  lane: oneOf(lanes).optional(),
  limit: limitParameter.optional(),
  cursor: cursorParameter,
});

const cursorSchema = z.strictObject({
  before: z.string().transform((text, context) => {
    const id = parseJobId(text);
    if (id !== null) return id;
    context.issues.push({ code: "custom", input: undefined, message: "not a job id" });
    return z.NEVER;
  }),
});

/** Jobs, the newest first. With a filter a page may hold fewer than `limit` and still have a next one. */
export async function listJobs(dependencies: ApiContext, call: Call): Promise<Response> {
  const { db } = dependencies;
  const query = parseQuery(jobsQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const cursor = readCursor(query.value.cursor, cursorSchema);
  if (!cursor.ok) return problemResponse(invalid(cursor.error));

  const { status = null, lane, limit = DEFAULT_LIMIT } = query.value;
  const page = await scanNewest<JobRow, JobId>({
    before: cursor.value?.before ?? null,
    limit,
    filtered: status !== null || lane !== undefined || call.key.collections !== null,
    read: (before, size) => readJobs(db, { before, status }, size),
    matches: (row) =>
      (status === null || row.status === status) &&
      (lane === undefined || row.lane === lane) &&
      mayBeSeen(call.key, row),
  });
  const now = await readNow(dependencies);
  const pauses = await readPauses(db, now);
  return jsonResponse({
    data: page.rows.map((row) => jobShape(row, pauses, now)),
    next_cursor: page.next === null ? null : writeCursor({ before: page.next }),
  });
}

export async function getJob(dependencies: ApiContext, call: Call): Promise<Response> {
  const { db } = dependencies;
  const query = parseQuery(noQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const id = parseJobId(call.parameters["id"] ?? "");
  const row = id === null ? null : await readJob(db, id);
  if (row === null || !mayBeSeen(call.key, row)) {
    return problemResponse({ name: "not-found", detail: "There is no job with this id." });
  }
  const now = await readNow(dependencies);
  return jsonResponse(jobShape(row, await readPauses(db, now), now));
}

/** Submissions share jobs: a key sees those that it has documents in, and a key of all collections sees all. */
function mayBeSeen(key: ApiKey, row: JobRow): boolean {
  return key.collections === null || submissionsOf(row).some(([, collection]) => allowsCollection(key, collection));
}
