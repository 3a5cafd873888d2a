import { sql, type SQL } from "drizzle-orm";
import type { JobId, SubmissionId } from "@sluice/core";
import type { Database } from "../database.ts";
import { query } from "../statements.ts";

/** A document as it stands in a job's list: its number is its index in the batch. */
export interface JobDocument {
  readonly submission: SubmissionId;
  readonly document: string;
  readonly place: number;
  readonly contexts: number;
  /** `null`: each context's id is its index. */
  readonly contextIds: readonly string[] | null;
}

/** For `WITH`: the job's list, taken apart by submission once: a join that refers to it serializes it for each document. */
function listed(job: { readonly id: JobId; readonly attempt: number }): SQL {
  return sql`
    WITH listed AS MATERIALIZED (
      SELECT g.key, s.id AS submission, s.collection, s.truncate_inputs, g.value -> 1 AS documents
      FROM jobs j CROSS JOIN json_each(j.members) g
      CROSS JOIN submissions s ON s.id = g.value ->> 0
      WHERE j.id = ${job.id} AND j.attempt = ${job.attempt})`;
}

/**
 * The list that an attempt sent, without texts. `null` stands where a document was deleted since: the
 * numbers of the others stay. Empty where the attempt is not the job's current one.
 */
export async function readJobDocuments(
  db: Database,
  job: { readonly id: JobId; readonly attempt: number },
): Promise<(JobDocument | null)[]> {
  const rows = await query<{
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
    ${listed(job)}
    SELECT l.submission AS submission, i.value AS document, d.place AS place, d.context_count AS contexts,
      d.context_ids AS contextIds, l.key AS "group", i.key AS "index"
    FROM listed l CROSS JOIN json_each(l.documents) i
    LEFT JOIN documents d ON d.document_id = i.value AND d.collection = l.collection AND d.submission_id = l.submission`,
  );
  // Sorted here, since D1 bills a sort as one more row read a document; as they come they are in order.
  return rows
    .toSorted((a, b) => a.group - b.group || a.index - b.index)
    .map((row) =>
      row.place === null
        ? null
        : {
            submission: row.submission,
            document: row.document,
            place: row.place,
            contexts: row.contexts,
            contextIds: row.contextIds === null ? null : (JSON.parse(row.contextIds) as string[]),
          },
    );
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
export async function readJobContent(
  db: Database,
  job: { readonly id: JobId; readonly attempt: number },
): Promise<DocumentContent[]> {
  const rows = await query<
    Omit<DocumentContent, "contexts" | "truncateInputs"> & { contexts: string; truncates: number }
  >(
    db,
    sql`
    ${listed(job)}
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
