import type { RetentionStep } from "../submission/retention-step.ts";
import { advanceRetention } from "../submission/sql/retention-progress.ts";
import { expireScores, listOutcomes, type VersionKey } from "./sql/expire-scores.ts";

/** Outcomes that one step looks at. */
const MAX_OUTCOMES = 4_000;

/** The step that expires scores from before a time, by collection and document. */
export function expireScoresStep(before: number): RetentionStep {
  return async (db, cursor, move, now) => {
    const after = cursor === null ? null : (JSON.parse(cursor) as VersionKey | null);
    const found = await listOutcomes(db, after, before, MAX_OUTCOMES);
    const last = found.at(-1);
    const next = last === undefined ? after : { collection: last.collection, id: last.id, submission: last.submission };
    const end = { cursor: JSON.stringify(next), isLast: found.length < MAX_OUTCOMES };
    const old = found.filter(({ isOld }) => isOld === 1);
    if (old.length > 0) await expireScores(db, old, before, move(end), now);
    else if (found.length > 0) await advanceRetention(db, move(end), now);
    return end;
  };
}
