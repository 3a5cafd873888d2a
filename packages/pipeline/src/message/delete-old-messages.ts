import type { RetentionStep } from "../submission/retention-step.ts";
import { deleteOldMessages, listMalformedKeys } from "./sql/delete-old-messages.ts";
import type { MalformedKey } from "./sql/read-malformed-messages.ts";

/** Quarantined messages, of up to 128 KB, that one step looks at. */
const MAX_MESSAGES = 100;

/** The step that deletes messages that were quarantined before a time, by key. */
export function deleteMessagesStep(before: number): RetentionStep {
  return async (db, cursor, move, now) => {
    const after = cursor === null ? null : (JSON.parse(cursor) as MalformedKey | null);
    const found = await listMalformedKeys(db, after, MAX_MESSAGES);
    const end = { cursor: JSON.stringify(found.at(-1) ?? after), isLast: found.length < MAX_MESSAGES };
    if (found.length > 0) await deleteOldMessages(db, found, before, move(end), now);
    return end;
  };
}
