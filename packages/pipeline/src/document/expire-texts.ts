import { decideAboutTexts } from "../submission/retention-rules.ts";
import type { RetentionStep } from "../submission/retention-step.ts";
import { advanceRetention } from "../submission/sql/retention-progress.ts";
import { expireTexts, listTexts } from "./sql/expire-texts.ts";

/** Rows of texts that one step looks at. Of those of about 128 KB, it takes 250. */
const MAX_ROWS = 5_000;

/**
 * The step that expires texts of documents that ended before a time, by id. `failedToo`: the texts of failed documents,
 * too.
 */
export function expireTextsStep(before: number, failedToo: boolean): RetentionStep {
  return async (db, cursor, move, now) => {
    const deleted: number[] = [];
    const rewritten: number[] = [];
    let last = cursor === null ? 0 : Number(cursor);
    const { rows, isEnd } = await listTexts(db, last, before, MAX_ROWS);
    let isLast = isEnd;
    for (const row of rows) {
      const decision = decideAboutTexts(row, before, failedToo);
      isLast ||= decision === "young";
      if (decision === "young") break;
      last = row.id;
      if (decision === "delete") deleted.push(row.id);
      if (decision === "rewrite") rewritten.push(row.id);
    }
    const end = { cursor: String(last), isLast };
    if (deleted.length + rewritten.length > 0)
      await expireTexts(db, { deleted, rewritten, before, failedToo }, move(end), now);
    else if (end.cursor !== cursor) await advanceRetention(db, move(end), now);
    return end;
  };
}
