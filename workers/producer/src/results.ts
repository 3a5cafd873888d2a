import type { DocumentStatus } from "@sluice/core";
import {
  listSubmissionDocuments,
  readSubmissionDocuments,
  type ResultPosition,
} from "@sluice/pipeline/document/sql/read-document.ts";
import type { SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { Reader } from "./context.ts";
import { describeDocuments } from "./describe.ts";
import type { DocumentView } from "./shapes/document.ts";

/** Documents that one query lists. */
const WINDOW = 1_000;
/** A page ends with the document that exceeds this. */
const PAGE_BYTES = 4_000_000;
/** Windows that a page looks through for documents of one status. If it finds too few, it is short. */
const MAX_WINDOWS = 10;

export interface ResultsQuery extends DocumentView {
  readonly status: DocumentStatus | null;
}

export interface ResultsPage {
  /** As JSON text. */
  readonly documents: readonly string[];
  /** Where the next page starts; `null` at the end. */
  readonly next: ResultPosition | null;
}

/**
 * The next recorded documents of a submission, in the order of its parts: at most `limit`, and about
 * 4 MB. A short page, even an empty one, is the last only if `next` is `null`.
 */
export async function readResultsPage(
  { db, databaseTime }: Reader,
  submission: SubmissionRow,
  query: ResultsQuery,
  after: ResultPosition | null,
  limit: number,
): Promise<ResultsPage> {
  // Queued documents are in the Queue, not in D1.
  if (query.status === "queued") return { documents: [], next: null };
  const ids: string[] = [];
  let next = after;
  let bytes = 0;
  let ended = false;
  for (let windows = 0; windows < MAX_WINDOWS && !ended && ids.length < limit && bytes < PAGE_BYTES; windows += 1) {
    // One more than fits: if it is missing, this page is the last.
    const size = query.status === null ? limit - ids.length + 1 : WINDOW;
    const listed = await listSubmissionDocuments(db, submission, next, size);
    ended = listed.length < size;
    for (const [index, document] of listed.entries()) {
      next = document.position;
      if (query.status === null || (document.status ?? "processing") === query.status) {
        ids.push(document.id);
        bytes += document.bytes;
      }
      if (ids.length >= limit || bytes >= PAGE_BYTES) {
        ended &&= index === listed.length - 1;
        break;
      }
    }
  }
  const rows =
    ids.length === 0 ? [] : await readSubmissionDocuments(db, submission, ids, query.include.includes("text"));
  return { documents: await describeDocuments({ db, databaseTime }, rows, query), next: ended ? null : next };
}
