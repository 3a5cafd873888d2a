import { err, ok, parseSubmissionId, type Result, type SubmissionId } from "@sluice/core";
import {
  listSubmissions as readSubmissions,
  type SubmissionRow,
} from "@sluice/pipeline/submission/sql/read-submission.ts";
import { submissionStatus } from "@sluice/pipeline/submission/submission-status.ts";
import { readLabelTotals } from "@sluice/pipeline/submission/sql/read-totals.ts";
import * as z from "zod";
import { readNow, type ApiContext, type Reader } from "../context.ts";
import { describeSubmissions } from "../describe.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { allowsCollection, type ApiKey } from "../http/keys.ts";
import { invalid, type Problem } from "../http/problems.ts";
import { DEFAULT_LIMIT, cursorParameter, limitParameter, oneOf, timeParameter } from "../http/query.ts";
import { scanNewest } from "../scan-newest.ts";
import { collectionOption, labelOption } from "../push/options.ts";
import type { Page } from "../shapes/page.ts";
import {
  countsShape,
  stalledShape,
  submissionFilters,
  type Counts,
  type SubmissionShape,
} from "../shapes/submission.ts";

export const submissionsQuery = z.strictObject({
  status: oneOf(submissionFilters).describe("`stalled`: those whose `stalled` is not null, in any status.").optional(),
  collection: collectionOption.optional(),
  label: labelOption.optional(),
  since: timeParameter.describe("Those opened at this time or later.").optional(),
  limit: limitParameter.optional(),
  cursor: cursorParameter,
});

interface Input {
  readonly key: ApiKey;
  readonly query: z.output<typeof submissionsQuery>;
}

/** With `counts` of every submission of a label, if the list was asked for one. */
export type SubmissionPage = Page<SubmissionShape> & { readonly counts?: Counts };

const cursorSchema = z.strictObject({
  before: z.string().transform((text, context) => {
    const id = parseSubmissionId(text);
    if (id !== null) return id;
    context.issues.push({ code: "custom", input: undefined, message: "not a submission id" });
    return z.NEVER;
  }),
});

/**
 * Submissions, newest first. A page looks through 2,000 of them at most: with a filter, or a key that is limited to some
 * collections, it may hold fewer than `limit` and still have a next one.
 */
export async function listSubmissions(
  context: Reader,
  { key, query }: Input,
): Promise<Result<SubmissionPage, Problem>> {
  const cursor = readCursor(query.cursor, cursorSchema);
  if (!cursor.ok) return err(invalid(cursor.error));
  const { status, collection, label = null, since = null, limit = DEFAULT_LIMIT } = query;
  const now = status === "stalled" ? await readNow(context) : 0;
  const isStalled = (row: SubmissionRow) => stalledShape(row, now) !== null;
  const page = await scanNewest<SubmissionRow, SubmissionId>({
    before: cursor.value?.before ?? null,
    limit,
    filtered: status !== undefined || collection !== undefined || key.collections !== null,
    read: (before, size) => readSubmissions(context.db, { before, since, label }, size),
    matches: (row) =>
      allowsCollection(key, row.collection) &&
      // Ids are ahead of the clock after it was set back.
      (since === null || row.createdAt >= since) &&
      (collection === undefined || row.collection === collection) &&
      (status === undefined || (status === "stalled" ? isStalled(row) : submissionStatus(row) === status)),
  });
  return ok({
    data: await describeSubmissions(context, page.rows),
    next_cursor: page.next === null ? null : writeCursor({ before: page.next }),
    ...(label !== null && { counts: await labelCounts(context, key, label, collection ?? null) }),
  });
}

/** The documents of all submissions of a label that the key may see. */
async function labelCounts(
  { db }: Pick<ApiContext, "db">,
  key: ApiKey,
  label: string,
  collection: string | null,
): Promise<Counts> {
  const sum = { total: 0, recorded: 0, succeeded: 0, failed: 0, canceled: 0, lost: 0 };
  for (const one of await readLabelTotals(db, label)) {
    if (!allowsCollection(key, one.collection) || (collection !== null && one.collection !== collection)) continue;
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += one[name];
  }
  return countsShape(sum);
}
