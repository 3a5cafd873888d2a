import { sql, type SQL } from "drizzle-orm";
import type { JobId, SubmissionId } from "@sluice/core";
import { type Database, query } from "@sluice/db";
import { isDocument } from "../../document/sql/is-document.ts";
import { columns } from "../../platform/sql/columns.ts";
import { MEMBER, memberSubmission } from "./members.ts";

/** A document of a job's list: its position in the list is its index in the batch. */
export interface JobDocument {
  readonly submission: SubmissionId;
  readonly document: string;
  /** Its index in its push. */
  readonly index: number;
  readonly contexts: number;
  /** `null` if each context's id is its index. */
  readonly contextIds: readonly string[] | null;
}

interface JobDispatch {
  readonly id: JobId;
  readonly dispatchNumber: number;
}

const DISPATCH = columns("id", "dispatchNumber");

/** Whether `d` is the document that the id `i` names in the list `l`. */
const isListedDocument = isDocument(sql`d`, {
  id: sql`i.value`,
  collection: sql`l.collection`,
  submission: sql`l.submission`,
});

/**
 * The jobs' lists by submission, for `WITH`, split once: a join on the list itself would serialize it again for each
 * document.
 */
function listed(jobs: readonly JobDispatch[]): SQL {
  const asked = DISPATCH.row(sql`a.value`);
  return sql`
    WITH listed AS MATERIALIZED (
      SELECT j.id AS job, g.key, s.id AS submission, s.collection, s.truncate_inputs,
        ${MEMBER.row(sql`g.value`).json("documents")} AS documents
      FROM json_each(${JSON.stringify(jobs.map((job) => DISPATCH.list(job)))}) a
      CROSS JOIN jobs j ON j.id = ${asked("id")} AND j.dispatch_number = ${asked("dispatchNumber")}
      CROSS JOIN json_each(j.members) g
      CROSS JOIN submissions s ON s.id = ${memberSubmission})`;
}

/**
 * The lists that dispatches sent, by job, without texts. A deleted document is `null`, so that the others keep their
 * numbers. A job with another current dispatch is absent.
 */
export async function readJobDocuments(
  db: Database,
  jobs: readonly JobDispatch[],
): Promise<ReadonlyMap<JobId, readonly (JobDocument | null)[]>> {
  const rows = await query<{
    job: JobId;
    submission: SubmissionId;
    document: string;
    index: number | null;
    contexts: number;
    contextIds: string | null;
    group: number;
    position: number;
  }>(
    db,
    sql`
    ${listed(jobs)}
    SELECT l.job AS job, l.submission AS submission, i.value AS document, d.place AS "index", d.context_count AS contexts,
      d.context_ids AS contextIds, l.key AS "group", i.key AS position
    FROM listed l CROSS JOIN json_each(l.documents) i
    LEFT JOIN documents d ON ${isListedDocument}`,
  );
  // Sorted here, because D1 bills a sort as one more row read per document. They arrive in order already.
  const sorted = rows.toSorted((a, b) => a.group - b.group || a.position - b.position);
  const lists = new Map<JobId, (JobDocument | null)[]>();
  for (const { job, submission, document, index, contexts, contextIds } of sorted) {
    const list = lists.get(job) ?? [];
    lists.set(job, list);
    if (index === null) list.push(null);
    else {
      const ids = contextIds === null ? null : (JSON.parse(contextIds) as string[]);
      list.push({ submission, document, index, contexts, contextIds: ids });
    }
  }
  return lists;
}

/** The document columns that make up a request. */
export interface DocumentContent {
  readonly submission: SubmissionId;
  readonly document: string;
  readonly index: number;
  readonly query: string;
  readonly contexts: readonly string[];
  readonly truncateInputs: boolean;
}

/** The documents of a job's list with their texts, in any order: up to 9.5 MB. Deleted ones are left out. */
export async function readJobContent(db: Database, job: JobDispatch): Promise<DocumentContent[]> {
  const rows = await query<
    Omit<DocumentContent, "contexts" | "truncateInputs"> & { contexts: string; truncates: number }
  >(
    db,
    sql`
    ${listed([job])}
    SELECT l.submission AS submission, d.document_id AS document, d.place AS "index", d.query, t.texts -> d.contexts_at AS contexts,
      l.truncate_inputs AS truncates
    FROM listed l CROSS JOIN json_each(l.documents) i
    CROSS JOIN documents d ON ${isListedDocument}
    CROSS JOIN contexts t ON t.id = d.contexts_id`,
  );
  return rows.map(({ contexts, truncates, ...row }) => ({
    ...row,
    contexts: JSON.parse(contexts) as string[],
    truncateInputs: truncates === 1,
  }));
}
