import { mutation, PROGRESS_VIEW, VIEWS, type Mutation } from "./mutation.ts";

/** What the API and the views answer. */
export const READING: readonly Mutation[] = [
  mutation(
    "feed-by-job",
    "the feed is in the order in which jobs were recorded, not in that of their ends",
    "listEndedJobs",
    "ORDER BY finalized_sequence LIMIT",
    "ORDER BY id LIMIT",
  ),
  mutation(
    "feed-page-overlooks",
    "behind a page of the feed the rest of a job is left out",
    "readFeedPage",
    "if (cut) continue;",
    "",
  ),
  mutation(
    "stale-not-reported",
    "a document whose newest version has no scores shows none, though an older one has",
    "documentShape",
    "const stale = row.olderSubmissionId !== null;",
    "const stale = false;",
  ),
  mutation(
    "metadata-through-a-double",
    "metadata is parsed and written again where it is read, so that large numbers are rounded",
    "documentJson",
    '"metadata":${row.metadata ?? "null"}}',
    '"metadata":${JSON.stringify(JSON.parse(row.metadata ?? "null"))}}',
  ),
  mutation(
    "lost-not-reported",
    "a submission does not count among its failures what the Queue lost",
    "countsShape",
    "failed: row.failed + row.lost,",
    "failed: row.failed,",
  ),
  mutation(
    "older-version-read",
    "a document is read in its oldest version",
    "readDocument",
    "ORDER BY d.submission_id DESC LIMIT 1`",
    "ORDER BY d.submission_id LIMIT 1`",
  ),
  mutation(
    "ranked-reads-newest-input",
    "the view ranked shows the texts of a document's newest version beside the scores of an older one",
    VIEWS,
    "d.document_id = o.document_id AND d.submission_id = o.submission_id",
    `d.document_id = o.document_id AND d.submission_id = (SELECT max(x.submission_id) FROM documents x
      WHERE x.collection = o.collection AND x.document_id = o.document_id)`,
  ),
  mutation(
    "ranked-text-by-rank",
    "the view ranked takes a context's text by its rank",
    VIEWS,
    "(s.value ->> 0) || ']')",
    "s.key || ']')",
  ),
  mutation(
    "progress-without-lost",
    "the view submissions_progress does not count as failed what the Queue lost",
    PROGRESS_VIEW,
    "CAST(failed + lost AS INTEGER)",
    "CAST(failed AS INTEGER)",
  ),
  mutation(
    "page-repeats-last",
    "a page of results begins with the last document of the one before",
    "listSubmissionDocuments",
    "OR i.key > ${from.index})",
    "OR i.key >= ${from.index})",
  ),
];
