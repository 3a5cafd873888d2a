import { err, ok, type Result } from "@sluice/core";
import { readDocuments, weighDocuments } from "@sluice/pipeline/document/sql/read-document.ts";
import * as z from "zod";
import type { Reader } from "../context.ts";
import { describeDocuments } from "../describe.ts";
import { allowsCollection, type ApiKey } from "../http/keys.ts";
import { invalid, type Problem } from "../http/problems.ts";
import { viewParameters } from "../http/query.ts";
import type { FoundDocuments } from "../shapes/page.ts";

const MAX_IDS = 100;
/** A document has up to 1 MB, and several copies of it are in memory while it is read and answered. */
const MAX_BYTES = 20_000_000;

const idsRule = `must be given 1 to ${MAX_IDS} times`;
export const documentsQuery = z.strictObject({
  id: z.array(z.string(), { error: idsRule }).min(1, idsRule).max(MAX_IDS, idsRule),
  ...viewParameters,
});

interface Input {
  readonly key: ApiKey;
  readonly collection: string;
  readonly query: z.output<typeof documentsQuery>;
}

/** Documents of a collection by their ids, in the order asked: at most 100, of 20 MB. */
export async function getDocuments(
  context: Reader,
  { key, collection, query }: Input,
): Promise<Result<FoundDocuments, Problem>> {
  const { db } = context;
  const { id: ids, top_k: topK = null, include = [] } = query;
  if (!allowsCollection(key, collection)) return ok({ documents: [], missing: ids });
  if ((await weighDocuments(db, collection, ids)) > MAX_BYTES) {
    return err(invalid([{ pointer: "?id", detail: "these documents are more than 20 MB: ask for fewer at once" }]));
  }
  const rows = await readDocuments(db, collection, ids, include.includes("text"));
  const found = new Set(rows.map((row) => row.documentId));
  const documents = await describeDocuments(context, rows, { topK, include });
  return ok({ documents, missing: ids.filter((id) => !found.has(id)) });
}
