import type { RetentionStep } from "../submission/retention-step.ts";
import {
  addPartsToTexts,
  endListing,
  lastUnlistedTexts,
  listPartKeys,
  type PartKey,
} from "./sql/list-parts-of-texts.ts";

/** Parts that one step adds. Each may rewrite a row of 128 KB. */
const MAX_PARTS = 100;

/** Where a pass is. `through`: the last row without a list when it began. */
interface Listing {
  readonly through: number;
  readonly after: PartKey | null;
}

/**
 * The step that lists the parts of rows that an older version wrote. A pass goes over all parts, because only a part's
 * documents name its row. The cursor is `null` between two passes.
 */
export const listPartsStep: RetentionStep = async (db, cursor, move, now) => {
  const { through, after } =
    cursor === null ? { through: await lastUnlistedTexts(db), after: null } : (JSON.parse(cursor) as Listing);
  if (through === null) return { cursor: null, isLast: true };
  const parts = await listPartKeys(db, after, MAX_PARTS);
  const last = parts.at(-1);
  if (last === undefined) {
    const end = { cursor: null, isLast: true };
    await endListing(db, through, move(end), now);
    return end;
  }
  const next: Listing = { through, after: last };
  const end = { cursor: JSON.stringify(next), isLast: false };
  await addPartsToTexts(db, parts, move(end), now);
  return end;
};
