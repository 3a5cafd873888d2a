import { MAX_ROUNDS } from "@sluice/core";
import { MAX_BATCHES, MAX_REFUSALS } from "../limits.ts";
import { scoreOf } from "../world/score.ts";
import type { OutcomeRow } from "./changes.ts";
import type { Content, Job, Submission, Version } from "./state.ts";

/** Returns the expected scores of an outcome: `[index, score]`, plus the id if it is not the index, best first. */
export function expectedScores(content: Content): unknown[][] {
  return content.contexts
    .map((text, index) => ({ index, score: scoreOf(content.query, text) }))
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .map(({ index, score }) =>
      content.contextIds === null ? [index, score] : [index, score, content.contextIds[index]],
    );
}

/** Returns the flaw in a newly written outcome, or `null`. */
export function outcomeFlaw(row: OutcomeRow, version: Version, submission: Submission, job: Job | null): string | null {
  const { key } = version;
  if (version.outcome !== null) return `${key} ended twice`;
  if (row.job_id !== null && job === null) return `${key} ended in a job that does not exist`;
  if (job !== null && row.attempts !== job.row.round)
    return `${key} counts ${row.attempts} answers, but its job is in round ${job.row.round}`;
  switch (row.status) {
    case "succeeded": {
      const expected = JSON.stringify(expectedScores(version.content));
      return row.scores === expected ? null : `${key} has scores ${row.scores}, but its own texts give ${expected}`;
    }
    case "canceled":
      return submission.row.cancel_requested_at === null ? `${key} was canceled without a request` : null;
    case "failed":
      if (job !== null && row.code === "no_answer" && lastBatchHadNeighbors(job))
        return `${key} failed in an invalid last batch that it shared`;
      return mayFail(row.code ?? "", version)
        ? null
        : `${key} failed as ${row.code}, but the service did not report that`;
  }
}

/** Whether a document of an invalid batch shared its last batch, which it must have alone. */
function lastBatchHadNeighbors({ isPieceOfInvalid, list, row, dispatches }: Job): boolean {
  return isPieceOfInvalid && list.length > 1 && dispatches.get(row.dispatch_number)?.reported.has("invalid") === true;
}

function mayFail(code: string, version: Version): boolean {
  if (code === "no_answer")
    return version.dispatches.size - version.refused >= MAX_BATCHES || version.turnedAway >= MAX_REFUSALS - 1;
  if (["model_error", "missing_result", "mismatched_result", "invalid_result"].includes(code)) {
    return version.unusable >= MAX_ROUNDS && version.mayFailWith.has(code);
  }
  return version.mayFailWith.has(code);
}

/**
 * Returns the flaw in the open jobs of a version, or `null`. It must be in one until it has ended, and then in none.
 */
export function openJobsFlaw({ recorded, deleted, key, outcome, openJobs: { size } }: Version): string | null {
  if (!recorded || deleted || size === (outcome === null ? 1 : 0)) return null;
  return `${key} has ${outcome === null ? "not ended" : "ended"} and is in ${size} open jobs`;
}
