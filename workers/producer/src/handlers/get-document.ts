import { readDocument, readHoldingJobs } from "@sluice/db";
import * as z from "zod";
import type { Call, Dependencies } from "../dependencies.ts";
import { allowsCollection } from "../http/keys.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { parseQuery, viewParameters } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";
import { documentShape, rootJob } from "../shapes/document.ts";

const querySchema = z.strictObject(viewParameters);

/** Seconds: by then a document that was just pushed is recorded, if nothing is wrong. */
const RECORDED_AFTER = "5";

export async function getDocument({ db, now }: Dependencies, call: Call): Promise<Response> {
  const query = parseQuery(querySchema, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const { collection = "", id = "" } = call.parameters;
  const include = query.value.include ?? [];
  const row = allowsCollection(call.key, collection)
    ? await readDocument(db, { collection, id }, include.includes("text"))
    : null;
  if (row === null) return noDocument();
  let job = rootJob(row);
  if (row.status === null && job === null && row.root_job_id !== null) {
    const asked = { root: row.root_job_id, submission: row.submission_id, id: row.document_id };
    job = (await readHoldingJobs(db, [asked]))[0] ?? null;
  }
  return jsonResponse(documentShape(row, job, { topK: query.value.top_k ?? null, include }, now()));
}

function noDocument(): Response {
  return problemResponse({
    name: "not-found",
    detail:
      "There is no document with this id in the collection. If it was pushed a moment ago it is on its way: " +
      "ask again soon, or look at its submission.",
    headers: { "retry-after": RECORDED_AFTER },
  });
}
