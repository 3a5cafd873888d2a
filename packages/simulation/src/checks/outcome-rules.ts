import { MAX_ROUNDS } from "@sluice/core";
import { MAX_BATCHES, MAX_REFUSALS } from "../limits.ts";
import { scoreOf } from "../world/score.ts";
import type { OutcomeRow } from "./changes.ts";
import type { Content, Job, Submission, Version } from "./state.ts";

/** What a document's outcome must hold: `[index, score]`, or with the id where it is not the index, best first. */
export function expectedScores(content: Content): unknown[][] {
  return content.contexts
    .map((text, index) => ({ index, score: scoreOf(content.query, text) }))
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .map(({ index, score }) =>
      content.contextIds === null ? [index, score] : [index, score, content.contextIds[index]],
    );
}

/** What is wrong with an outcome that was just written, or `null`. */
export function outcomeFlaw(row: OutcomeRow, version: Version, submission: Submission, job: Job | null): string | null {
  const { key } = version;
  if (version.outcome !== null) return `${key} ended twice`;
  if (row.job_id !== null && job === null) return `${key} ended in a job that is not there`;
  if (job !== null && row.attempts !== job.row.round)
    return `${key} counts ${row.attempts} answers, its job waited for ${job.row.round}`;
  switch (row.status) {
    case "succeeded": {
      const expected = JSON.stringify(expectedScores(version.content));
      return row.scores === expected ? null : `${key} has scores ${row.scores}, its own texts give ${expected}`;
    }
    case "canceled":
      return submission.row.cancel_requested_at === null ? `${key} was canceled, and nobody asked for it` : null;
    case "failed":
      if (job !== null && row.code === "no_answer" && lastBatchHadNeighbors(job))
        return `${key} failed in a last batch that was invalid, with others in it`;
      return mayFail(row.code ?? "", version)
        ? null
        : `${key} failed as ${row.code}, and the service said no such thing`;
  }
}

/** A document known to be among bad ones has its last batch for itself. */
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

/** What is wrong with the open jobs of a version, or `null`: one until it has ended, none after that. */
export function openJobsFlaw({ recorded, deleted, key, outcome, openJobs: { size } }: Version): string | null {
  if (!recorded || deleted || size === (outcome === null ? 1 : 0)) return null;
  return `${key} has ${outcome === null ? "not ended" : "ended"} and is in ${size} open jobs`;
}
