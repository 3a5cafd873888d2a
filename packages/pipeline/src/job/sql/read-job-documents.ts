import { sql, type SQL } from "drizzle-orm";
import type { JobId, SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";

/** A document as it stands in a job's list: its number is its index in the batch. */
export interface JobDocument {
  readonly submission: SubmissionId;
  readonly document: string;
  readonly place: number;
  readonly contexts: number;
  /** `null`: each context's id is its index. */
  readonly contextIds: readonly string[] | null;
}

interface JobDispatch {
  readonly id: JobId;
  readonly dispatchNumber: number;
}

/** For `WITH`: the jobs' lists, taken apart by submission once: a join that refers to one serializes it for each document. */
function listed(jobs: readonly JobDispatch[]): SQL {
  return sql`
    WITH listed AS MATERIALIZED (
      SELECT j.id AS job, g.key, s.id AS submission, s.collection, s.truncate_inputs, g.value -> 1 AS documents
      FROM json_each(${JSON.stringify(jobs.map(({ id, dispatchNumber }) => [id, dispatchNumber]))}) a
      CROSS JOIN jobs j ON j.id = a.value ->> 0 AND j.dispatch_number = a.value ->> 1
      CROSS JOIN json_each(j.members) g
      CROSS JOIN submissions s ON s.id = g.value ->> 0)`;
}

/**
 * The lists that dispatches sent, by job, without texts. A document that was deleted since is `null`, so that the
 * others keep their numbers. A job whose current dispatch is another one is absent.
 */
export async function readJobDocuments(
  db: Database,
  jobs: readonly JobDispatch[],
): Promise<ReadonlyMap<JobId, readonly (JobDocument | null)[]>> {
  const rows = await query<{
    job: JobId;
    submission: SubmissionId;
    document: string;
    place: number | null;
    contexts: number;
    contextIds: string | null;
    group: number;
    index: number;
  }>(
    db,
    sql`
    ${listed(jobs)}
    SELECT l.job AS job, l.submission AS submission, i.value AS document, d.place AS place, d.context_count AS contexts,
      d.context_ids AS contextIds, l.key AS "group", i.key AS "index"
    FROM listed l CROSS JOIN json_each(l.documents) i
    LEFT JOIN documents d ON d.document_id = i.value AND d.collection = l.collection AND d.submission_id = l.submission`,
  );
  // Sorted here, since D1 bills a sort as one more row read a document; as they come they are in order.
  const sorted = rows.toSorted((a, b) => a.group - b.group || a.index - b.index);
  const lists = new Map<JobId, (JobDocument | null)[]>();
  for (const { job, submission, document, place, contexts, contextIds } of sorted) {
    const list = lists.get(job) ?? [];
    lists.set(job, list);
    if (place === null) list.push(null);
    else {
      const ids = contextIds === null ? null : (JSON.parse(contextIds) as string[]);
      list.push({ submission, document, place, contexts, contextIds: ids });
    }
  }
  return lists;
}

/** What a request is made from. */
export interface DocumentContent {
  readonly submission: SubmissionId;
  readonly document: string;
  readonly place: number;
  readonly query: string;
  readonly contexts: readonly string[];
  readonly truncateInputs: boolean;
}

/** The documents of a job's list with their texts, in no order: up to 9.5 MB. Deleted ones are left out. */
export async function readJobContent(db: Database, job: JobDispatch): Promise<DocumentContent[]> {
  const rows = await query<
    Omit<DocumentContent, "contexts" | "truncateInputs"> & { contexts: string; truncates: number }
  >(
    db,
    sql`
    ${listed([job])}
    SELECT l.submission AS submission, d.document_id AS document, d.place, d.query, t.texts -> d.contexts_at AS contexts,
      l.truncate_inputs AS truncates
    FROM listed l CROSS JOIN json_each(l.documents) i
    CROSS JOIN documents d ON d.document_id = i.value AND d.collection = l.collection AND d.submission_id = l.submission
    CROSS JOIN contexts t ON t.id = d.contexts_id`,
  );
  return rows.map(({ contexts, truncates, ...row }) => ({
    ...row,
    contexts: JSON.parse(contexts) as string[],
    truncateInputs: truncates === 1,
  }));
}
