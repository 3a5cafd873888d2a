import { readDocuments, weighDocuments } from "@sluice/pipeline/document/sql/read-document.ts";
import * as z from "zod";
import type { Call, ApiContext } from "../context.ts";
import { describeDocuments } from "../describe.ts";
import { allowsCollection } from "../http/keys.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { parseQuery, viewParameters } from "../http/query.ts";
import { jsonResponse, jsonTextResponse } from "../http/respond.ts";

const MAX_IDS = 100;
/** Documents are up to 1 MB each, and held in memory several times over on their way. */
const MAX_BYTES = 20_000_000;

const idsRule = `give 1 to ${MAX_IDS} of ?id=`;
export const documentsQuery = z.strictObject({
  id: z.array(z.string(), { error: idsRule }).min(1, idsRule).max(MAX_IDS, idsRule),
  ...viewParameters,
});

/** Documents of a collection by their ids, in the order asked: at most 100, of 20 MB. */
export async function getDocuments({ db, databaseTime }: ApiContext, call: Call): Promise<Response> {
  const query = parseQuery(documentsQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const { collection = "" } = call.parameters;
  const { id: ids, top_k: topK = null, include = [] } = query.value;
  if (!allowsCollection(call.key, collection)) return jsonResponse({ data: [], missing: ids });
  if ((await weighDocuments(db, collection, ids)) > MAX_BYTES) {
    return problemResponse(
      invalid([{ pointer: "?id", detail: "these documents are more than 20 MB: ask for fewer at once" }]),
    );
  }
  const rows = await readDocuments(db, collection, ids, include.includes("text"));
  const found = new Set(rows.map((row) => row.documentId));
  const documents = await describeDocuments({ db, databaseTime }, rows, { topK, include });
  const missing = JSON.stringify(ids.filter((id) => !found.has(id)));
  return jsonTextResponse(`{"data":[${documents.join(",")}],"missing":${missing}}`);
}
