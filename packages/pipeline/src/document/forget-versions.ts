import type { RetentionLimits } from "../submission/retention-rules.ts";
import type { RetentionStep } from "../submission/retention-step.ts";
import { advanceRetention } from "../submission/sql/retention-progress.ts";
import { forgetOldVersions, listOldParts } from "./sql/forget-versions.ts";
import type { PartKey } from "./sql/list-parts-of-texts.ts";

/** Parts, and documents of parts, that one step looks at. One part may have more. */
const MAX_PARTS = 4_000;
const MAX_DOCUMENTS = 4_000;

/** The step that forgets old versions of documents, and old parts, by submission and part. */
export function forgetVersionsStep(limits: RetentionLimits): RetentionStep {
  const before = Math.max(limits.hidden, limits.versions, limits.parts);
  return async (db, cursor, move, now) => {
    const after = cursor === null ? null : (JSON.parse(cursor) as PartKey);
    const found = await listOldParts(db, after, before, MAX_PARTS);
    let documents = 0;
    const end = found.findIndex(({ documentCount }, index) => {
      documents += documentCount;
      return index > 0 && documents > MAX_DOCUMENTS;
    });
    const parts = end < 0 ? found : found.slice(0, end);
    const last = parts.at(-1) ?? after;
    const next = {
      cursor: last === null ? "null" : JSON.stringify({ submission: last.submission, part: last.part }),
      isLast: found.length < MAX_PARTS && end < 0,
    };
    // A part of an old submission may have been recorded late.
    const old = parts.filter(({ recordedAt }) => recordedAt < before);
    if (old.length > 0) await forgetOldVersions(db, old, limits, move(next), now);
    else if (parts.length > 0) await advanceRetention(db, move(next), now);
    return next;
  };
}
