import { deleteDocument as forget } from "@sluice/pipeline/document/sql/delete-document.ts";
import type { Call, ApiContext } from "../context.ts";
import { allowsCollection } from "../http/keys.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { parseQuery } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";
import { noDocument } from "./get-document.ts";
import { noQuery } from "./get-submission.ts";

/** Forgets all versions of a document; what is under way of it counts as canceled, and its answer is dropped. */
export async function deleteDocument({ db, databaseTime }: ApiContext, call: Call): Promise<Response> {
  const query = parseQuery(noQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const { collection = "", id = "" } = call.parameters;
  const deleted = allowsCollection(call.key, collection) ? await forget(db, { collection, id }, databaseTime()) : 0;
  return deleted === 0 ? noDocument() : jsonResponse({ deleted });
}
