import type { World } from "../world/world.ts";

/** Returns the flaw after retention had time to delete everything that is old enough, or `null`. */
export function stillNeededFlaw({ mirror, sqlite }: World): string | null {
  const [part] = sqlite.rows(`
    SELECT p.submission_id, p.part FROM parts p CROSS JOIN submissions s ON s.id = p.submission_id
    WHERE NOT EXISTS (SELECT 1 FROM json_each(p.documents) i
      CROSS JOIN outcomes o ON o.collection = s.collection AND o.document_id = i.value AND o.submission_id = s.id
        AND o.status = 'failed')`);
  if (part !== undefined) return `part ${String(part["part"])} of ${String(part["submission_id"])} is kept forever`;
  const [text] = sqlite.rows(`
    SELECT t.id FROM contexts t WHERE NOT EXISTS (
      SELECT 1 FROM documents d CROSS JOIN outcomes o ON o.collection = d.collection AND o.document_id = d.document_id
        AND o.submission_id = d.submission_id
      WHERE d.contexts_id = t.id AND o.status = 'failed')`);
  if (text !== undefined) return `row ${String(text["id"])} of texts is kept forever`;
  const left = [...mirror.submissions.values()].find(
    ({ row, deleted, recorded, forgotten }) => !deleted && row.lost === 0 && recorded > 0 && forgotten === recorded,
  );
  return left === undefined ? null : `${left.row.id} has no document left and is kept forever`;
}
