import { readDocument } from "@sluice/pipeline/document/sql/read-document.ts";
import * as z from "zod";
import type { Call, ApiContext } from "../context.ts";
import { describeDocuments } from "../describe.ts";
import { allowsCollection } from "../http/keys.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { parseQuery, viewParameters } from "../http/query.ts";
import { jsonTextResponse } from "../http/respond.ts";

export const documentQuery = z.strictObject(viewParameters);

/** Seconds: by then a document that was just pushed is recorded, if nothing is wrong. */
const RECORDED_AFTER_SECONDS = "5";

export async function getDocument({ db, databaseTime }: ApiContext, call: Call): Promise<Response> {
  const query = parseQuery(documentQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const { collection = "", id = "" } = call.parameters;
  const include = query.value.include ?? [];
  const row = allowsCollection(call.key, collection)
    ? await readDocument(db, { collection, id }, include.includes("text"))
    : null;
  if (row === null) return noDocument();
  const [document = ""] = await describeDocuments({ db, databaseTime }, [row], {
    topK: query.value.top_k ?? null,
    include,
  });
  return jsonTextResponse(document);
}

export function noDocument(): Response {
  return problemResponse({
    name: "not-found",
    detail:
      "There is no document with this id in the collection. If it was pushed a moment ago it is on its way: " +
      "ask again soon, or look at its submission.",
    headers: { "retry-after": RECORDED_AFTER_SECONDS },
  });
}
