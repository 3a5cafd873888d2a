import type { Submission } from "@sluice/client/library";
import { modelSchema, utf8Length } from "@sluice/core";
import { partBody, type PartHeader } from "@sluice/pipeline/message/message.ts";
import * as z from "zod";
import { submissionId } from "./connect.ts";
import { queryD1 } from "./d1.ts";
import { sum } from "./figures.ts";

/** A part as its message carried it. `bytes` is the size of the message body, or of the staged text. */
export interface PartMeasured {
  readonly documents: number;
  readonly bytes: number;
  /** The row with its texts, possibly shared with other parts. */
  readonly textRow: number;
}

const rowSchema = z.object({ part: z.number(), hash: z.string(), documents: z.string(), textRow: z.number() });
const idsSchema = z.array(z.string());

const PARTS = `SELECT p.part AS part, p.hash AS hash, p.documents AS documents, min(d.contexts_id) AS textRow
  FROM parts p CROSS JOIN json_each(p.documents) n
  CROSS JOIN documents d ON d.document_id = n.value AND d.submission_id = p.submission_id
    AND d.collection = (SELECT collection FROM submissions WHERE id = p.submission_id)
  WHERE p.submission_id = ?1 GROUP BY p.part`;

/**
 * Reads the parts of a submission. This needs private tables: the API counts documents and jobs, but not messages and
 * rows, which determine the cost of a push. `sizes` has the bytes of each document in a message, by id.
 */
export async function readParts(
  url: string,
  { id, collection, model, lane }: Submission,
  sizes: ReadonlyMap<string, number>,
): Promise<PartMeasured[]> {
  // The demo pushes without options, so texts may be truncated.
  const header = {
    submission: submissionId(id),
    collection,
    model: modelSchema.parse(model),
    lane,
    truncateInputs: true,
  };
  const rows = await queryD1(url, PARTS, [id], rowSchema);
  return rows.map(({ part, hash, documents, textRow }) => {
    const ids = idsSchema.parse(JSON.parse(documents));
    return { documents: ids.length, bytes: messageBytes(header, { part, hash, ids }, sizes), textRow };
  });
}

/** The size of a part's message, from the sizes of its documents. */
export function messageBytes(
  header: PartHeader,
  { part, hash, ids }: { readonly part: number; readonly hash: string; readonly ids: readonly string[] },
  sizes: ReadonlyMap<string, number>,
): number {
  const commas = ids.length - 1;
  return utf8Length(partBody(header, part, hash, "")) + sum(ids, (id) => sizes.get(id) ?? 0) + commas;
}
