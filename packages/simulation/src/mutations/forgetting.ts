import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Mutations of retention. Most show only if things are kept for minutes. */
export const FORGETTING: readonly Mutation[] = [
  {
    name: "forget-texts-in-progress",
    breaks: "texts of documents that have not ended expire",
    replacements: [
      { in: "decideAboutTexts", find: "if (row.open > 0 || row", replace: "if (row", times: 1 },
      {
        in: "expireTexts",
        find: "WHEN o.status IS NULL THEN ${isHere}",
        replace: "WHEN o.status IS NULL THEN 0",
        times: 1,
      },
    ],
  },
  {
    name: "forget-failed-texts",
    breaks: "texts of failed documents expire with the others",
    replacements: [
      {
        in: "decideAboutTexts",
        find: "if (row.failed === 0 || (failedToo && row.retried === 0)) return",
        replace: "if (row.open === 0) return",
        times: 1,
      },
      { in: "expireTexts", find: "NOT ${isNeeded(!failedToo)}", replace: "NOT ${isNeeded(false)}", times: 1 },
    ],
  },
  {
    name: "forget-retried-texts",
    breaks: "a document that is queued again loses its texts when its row is rewritten",
    replacements: [
      { in: "decideAboutTexts", find: "if (row.open > 0 || row", replace: "if (row", times: 1 },
      {
        in: "rewriteToFailed",
        find: "WHEN o.status IS NULL THEN ${isHere} ELSE",
        replace: "WHEN o.status IS NULL THEN 0 ELSE",
        times: 1,
      },
    ],
  },
  mutation(
    "forget-reuses-texts",
    "new texts get the number of a row that expired",
    "expireTexts",
    "raiseTextsMark(sql`${deleted.at(-1) ?? null}`),",
    "",
  ),
  mutation(
    "forget-leaves-texts",
    "a version is forgotten, but not its texts in a row with others",
    "forgetOldVersions",
    "...dropTexts(textsOf(versions, isOld(limits))),",
    "",
  ),
  mutation(
    "forget-newest-scores",
    "the newest version that succeeded is forgotten with the history",
    "isOld",
    "o.finalized_at < ${hidden} AND ${isHiddenBy(sql`x.status = 'succeeded'`)}",
    "o.finalized_at < ${hidden}",
  ),
  mutation(
    "forget-while-retried",
    "failed versions are forgotten while a retry is about to queue them",
    "isOld",
    "AND NOT EXISTS (SELECT 1 FROM retries r WHERE r.submission_id = o.submission_id) END",
    "END",
  ),
  mutation(
    "forget-not-counted",
    "a submission does not count the documents that retention deleted",
    "forgetDeleted",
    "SET forgotten = forgotten + counted.count",
    "SET forgotten = forgotten",
  ),
  mutation(
    "forget-failures",
    "failures are missing in the totals once their documents are forgotten",
    "forgetDeleted",
    "WHERE status = 'failed' AND NOT (${isRolledUp})",
    "WHERE false",
  ),
  mutation(
    "forget-parts-early",
    "a part is deleted while a message may repeat it",
    "retentionLimits",
    "Math.max(texts, history, MESSAGE_LIFE_MS)",
    "Math.max(texts, history)",
  ),
  mutation(
    "forget-reuses-sequence",
    "a job gets the finalized sequence of a deleted one",
    "deleteEndedJobs",
    "WHERE ${isListed}`, ),",
    "WHERE false`, ),",
  ),
  mutation(
    "forget-way-to-job",
    "a job is deleted although an open one is found through it",
    "deleteEndedJobs",
    "SELECT 1 FROM line CROSS JOIN jobs open ON open.id = line.id AND open.due_at IS NOT NULL",
    "SELECT 1 FROM line WHERE false",
  ),
].map((one) => withKind("forgetting", one));
