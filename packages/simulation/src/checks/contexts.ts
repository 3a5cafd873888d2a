import type { World } from "../world/world.ts";

/** Parts hold the contexts of the documents that are there, to the letter, and nothing of those that were deleted. */
export function contextsFlaw({ mirror, sqlite }: World): string | null {
  const expected = new Map<string, string>();
  for (const { recorded, deleted, submission, content } of mirror.versions.values()) {
    if (recorded && !deleted) expected.set(`${submission} ${content.place}`, JSON.stringify(content.contexts));
  }
  const kept = sqlite.rows("SELECT p.submission_id, c.key, c.value FROM parts p CROSS JOIN json_each(p.contexts) c");
  for (const { submission_id: submission, key, value } of kept) {
    const place = `${String(submission)} ${String(key)}`;
    const contexts = expected.get(place);
    if (contexts === undefined) return `the contexts of a document that is gone are kept: ${place}`;
    if (contexts !== value) return `the contexts of ${place} are ${String(value)}, not ${contexts}`;
    expected.delete(place);
  }
  const [missing] = expected.keys();
  return missing === undefined ? null : `the contexts of ${missing} are gone`;
}
