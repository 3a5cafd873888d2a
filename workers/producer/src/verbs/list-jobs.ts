import { err, jobStatuses, lanes, ok, parseJobId, type JobId, type Result } from "@sluice/core";
import { listJobs as readJobs, type JobRow } from "@sluice/pipeline/job/sql/read-jobs.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import * as z from "zod";
import { readNow, type Reader } from "../context.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import type { ApiKey } from "../http/keys.ts";
import { invalid, type Problem } from "../http/problems.ts";
import { DEFAULT_LIMIT, cursorParameter, limitParameter, oneOf } from "../http/query.ts";
import { scanNewest } from "../scan-newest.ts";
import { jobShape, type JobShape } from "../shapes/job.ts";
import type { Page } from "../shapes/page.ts";
import { maySeeJob } from "./get-job.ts";

export const jobsQuery = z.strictObject({
  status: oneOf(jobStatuses).optional(),
  lane: oneOf(lanes).optional(),
  limit: limitParameter.optional(),
  cursor: cursorParameter,
});

interface Input {
  readonly key: ApiKey;
  readonly query: z.output<typeof jobsQuery>;
}

const cursorSchema = z.strictObject({
  before: z.string().transform((text, context) => {
    const id = parseJobId(text);
    if (id !== null) return id;
    context.issues.push({ code: "custom", input: undefined, message: "not a job id" });
    return z.NEVER;
  }),
});

/** Jobs, newest first. With a filter a page may hold fewer than `limit` and still have a next one. */
export async function listJobs(context: Reader, { key, query }: Input): Promise<Result<Page<JobShape>, Problem>> {
  const { db } = context;
  const cursor = readCursor(query.cursor, cursorSchema);
  if (!cursor.ok) return err(invalid(cursor.error));
  const { status = null, lane, limit = DEFAULT_LIMIT } = query;
  const page = await scanNewest<JobRow, JobId>({
    before: cursor.value?.before ?? null,
    limit,
    filtered: status !== null || lane !== undefined || key.collections !== null,
    read: (before, size) => readJobs(db, { before, status }, size),
    matches: (row) =>
      (status === null || row.status === status) && (lane === undefined || row.lane === lane) && maySeeJob(key, row),
  });
  const now = await readNow(context);
  const pauses = await readPauses(db, now);
  return ok({
    data: page.rows.map((row) => jobShape(row, pauses, now)),
    next_cursor: page.next === null ? null : writeCursor({ before: page.next }),
  });
}
