import { sql } from "drizzle-orm";
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
    SELECT g.value ->> 0 AS submission, i.value AS document, d.place AS place, d.context_count AS contexts,
      d.context_ids AS contextIds, g.key AS "group", i.key AS "index"
    FROM jobs j CROSS JOIN json_each(j.members) g
    CROSS JOIN submissions s ON s.id = g.value ->> 0
    CROSS JOIN json_each(g.value, '$[1]') i
    LEFT JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id
    WHERE j.id = ${job.id} AND j.attempt = ${job.attempt}`,
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
    SELECT s.id AS submission, d.document_id AS document, d.place, d.query, d.contexts, s.truncate_inputs AS truncates
    FROM jobs j CROSS JOIN json_each(j.members) g
    CROSS JOIN submissions s ON s.id = g.value ->> 0
    CROSS JOIN json_each(g.value, '$[1]') i
    CROSS JOIN documents d ON d.document_id = i.value AND d.collection = s.collection AND d.submission_id = s.id
    WHERE j.id = ${job.id} AND j.attempt = ${job.attempt}`,
  );
  return rows.map(({ contexts, truncates, ...row }) => ({
    ...row,
    contexts: JSON.parse(contexts) as string[],
    truncateInputs: truncates === 1,
  }));
}
