import type { World } from "../world/world.ts";

/** Checks that every document finds its exact contexts, and that no texts without a document are kept. */
export function contextsFlaw({ mirror, sqlite }: World): string | null {
  const expected = new Map<string, string>();
  for (const { recorded, deleted, hasTexts, submission, content } of mirror.versions.values()) {
    if (recorded && !deleted && hasTexts)
      expected.set(`${submission} ${content.index}`, JSON.stringify(content.contexts));
  }
  const kept = new Map<string, string>();
  const lists = "SELECT c.id, t.key, t.value FROM contexts c CROSS JOIN json_each(c.texts) t WHERE t.type = 'array'";
  for (const { id, key, value } of sqlite.rows(lists)) kept.set(`${String(id)}[${String(key)}]`, String(value));
  const documents = sqlite.rows("SELECT submission_id, place, contexts_id, contexts_at FROM documents");
  for (const { submission_id: submission, place, contexts_id: row, contexts_at: at } of documents) {
    const document = `${String(submission)} ${String(place)}`;
    const position = `${String(row)}[${String(at)}]`;
    const contexts = kept.get(position);
    if (contexts === undefined && !expected.has(document)) continue;
    if (contexts === undefined) return `the contexts of ${document} are missing`;
    if (contexts !== expected.get(document))
      return `the contexts of ${document} are ${contexts}, not ${expected.get(document)}`;
    kept.delete(position);
  }
  const [shared] = sqlite.rows(`
    SELECT document_id, contexts_id FROM documents GROUP BY contexts_id, collection, document_id HAVING count(*) > 1`);
  if (shared !== undefined) return `two versions of ${String(shared["document_id"])} share a row of contexts`;
  const [stray] = kept.keys();
  if (stray !== undefined) return `contexts without a document are kept: ${stray}`;
  const [empty] = sqlite.rows(`
    SELECT id FROM contexts WHERE NOT EXISTS (SELECT 1 FROM json_each(texts) WHERE type <> 'null')`);
  return empty === undefined ? null : `a row of contexts without texts is kept: ${String(empty["id"])}`;
}
