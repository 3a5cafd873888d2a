import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Counters, sums and the order of ids. */
export const COUNTING: readonly Mutation[] = [
  mutation(
    "tokens-overwritten",
    "a submission counts only the tokens of its last job",
    "countEnds",
    "tokens = submissions.tokens + counted.tokens",
    "tokens = counted.tokens",
  ),
  mutation(
    "ids-not-increasing",
    "the id of a submission has its Worker's time although a newer id exists",
    "insertSubmission",
    "iif(fresh > newest, fresh, ${idAfter(sql`newest`, token)})",
    "fresh",
  ),
  withKind(
    "resuming",
    mutation(
      "lanes-in-one-job",
      "parts of both lanes that are recorded together share a job",
      "planRecording",
      "`${part.model} ${part.lane}`",
      "part.model",
    ),
  ),
  withKind(
    "retrying",
    mutation(
      "unfolded-codes-added",
      "a reopened submission adds its failures to the sums by code again",
      "addSubmissions",
      "o.code, '', ${sign} * count(*), 0, ${sign} * count(*)",
      "o.code, '', count(*), 0, count(*)",
    ),
  ),
  mutation(
    "stats-omit-old-open",
    "stats omit submissions that were set aside because they had not ended",
    "live",
    "UNION ALL SELECT ${LIVE_COLUMNS} FROM submissions WHERE id IN (SELECT submission_id FROM unfolded_submissions ORDER BY submission_id LIMIT ${limit})",
    "",
  ),
];
