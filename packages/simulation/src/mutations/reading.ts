import { mutation, PROGRESS_VIEW, VIEWS, type Mutation } from "./mutation.ts";

/** Answers of the API and the views. */
export const READING: readonly Mutation[] = [
  mutation(
    "feed-by-job",
    "the feed lists jobs in the order of recording, not of ending",
    "listEndedJobs",
    "ORDER BY finalized_sequence LIMIT",
    "ORDER BY id LIMIT",
  ),
  mutation(
    "feed-page-overlooks",
    "the feed omits the rest of a job after a page",
    "readFeedPage",
    "if (cut) continue;",
    "",
  ),
  mutation(
    "stale-not-reported",
    "a document whose newest version has no scores shows none although an older one has",
    "documentShape",
    "const stale = row.olderSubmissionId !== null;",
    "const stale = false;",
  ),
  mutation(
    "metadata-through-a-double",
    "reads parse and rewrite metadata, so large numbers are rounded",
    "documentJson",
    '"metadata":${row.metadata ?? "null"}}',
    '"metadata":${JSON.stringify(JSON.parse(row.metadata ?? "null"))}}',
  ),
  mutation(
    "lost-not-reported",
    "a submission's failures omit documents that the Queue lost",
    "countsShape",
    "failed: row.failed + row.lost,",
    "failed: row.failed,",
  ),
  mutation(
    "older-version-read",
    "a read returns the oldest version of a document",
    "readDocument",
    "ORDER BY d.submission_id DESC LIMIT 1`",
    "ORDER BY d.submission_id LIMIT 1`",
  ),
  mutation(
    "ranked-reads-newest-input",
    "the view ranked shows the newest version's texts with an older version's scores",
    VIEWS,
    "d.document_id = o.document_id AND d.submission_id = o.submission_id",
    `d.document_id = o.document_id AND d.submission_id = (SELECT max(x.submission_id) FROM documents x
      WHERE x.collection = o.collection AND x.document_id = o.document_id)`,
  ),
  mutation(
    "ranked-text-by-rank",
    "the view ranked looks up a context's text by its rank",
    VIEWS,
    "(s.value ->> 0) || ']')",
    "s.key || ']')",
  ),
  mutation(
    "progress-without-lost",
    "the view submissions_progress does not count documents that the Queue lost as failed",
    PROGRESS_VIEW,
    "CAST(failed + lost AS INTEGER)",
    "CAST(failed AS INTEGER)",
  ),
  mutation(
    "page-repeats-last",
    "a page of results begins with the last document of the previous page",
    "listSubmissionDocuments",
    "OR i.key > ${from.index})",
    "OR i.key >= ${from.index})",
  ),
];
