import { EVERYTHING, modelScope, submissionScope } from "@sluice/pipeline/job/pause-scopes.ts";
import { modelNames, parseSubmissionId, problemsOf, textFlaw } from "@sluice/core";
import { pauseDispatching, readPauses, resumeDispatching } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { readSubmission } from "@sluice/pipeline/submission/sql/read-submission.ts";
import * as z from "zod";
import { readNow, type Call, type ApiContext } from "../context.ts";
import { readBody, readText, typeProblem } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { allowsCollection } from "../http/keys.ts";
import { invalid, problemResponse, type Problem } from "../http/problems.ts";
import { parseQuery } from "../http/query.ts";
import { JSON_TYPE, jsonResponse } from "../http/respond.ts";
import { pauseShape, type PauseShape } from "../shapes/pause.ts";
import { noQuery, noSubmission } from "./get-submission.ts";

const MAX_BODY_BYTES = 10_000;
const MAX_REASON = 500;

const target = {
  model: z.enum(modelNames, { error: `model must be one of: ${modelNames.join(", ")}` }).optional(),
  submission: z.string({ error: "submission must be a submission's id" }).optional(),
};
const reason = z
  .string({ error: "reason must be a string" })
  .max(MAX_REASON, `reason must have at most ${MAX_REASON} characters`)
  .refine((text) => textFlaw(text) === null, "reason must be well-formed Unicode without NUL");
const error = (fields: string) =>
  `the body must be an object { ${fields} }: neither a model nor a submission means everything`;

/** What to stop: everything (an empty object, or no body), a model, or a submission. */
export const pauseBody = z.strictObject(
  { ...target, reason: reason.optional() },
  { error: error("model?, submission?, reason?") },
);
/** What to go on with. */
export const resumeBody = z.strictObject(target, { error: error("model?, submission?") });

/** Stops dispatching. What Workers AI has already is polled and finalized all the same. */
export async function pause(dependencies: ApiContext, call: Call): Promise<Response> {
  const { db } = dependencies;
  const asked = await readTarget(dependencies, call, pauseBody);
  if (asked instanceof Response) return asked;
  const { scope, message } = asked;
  await pauseDispatching(db, { scope, reason: "requested", message, since: await readNow(dependencies), until: null });
  return jsonResponse({ data: await pausesInForce(dependencies) });
}

/** Ends a pause, whoever asked for it, and makes what waited due at once. Gives the pause that ended. */
export async function resume(dependencies: ApiContext, call: Call): Promise<Response> {
  const asked = await readTarget(dependencies, call, resumeBody);
  if (asked instanceof Response) return asked;
  const ended = await resumeDispatching(dependencies.db, asked.scope, await readNow(dependencies));
  const data = await pausesInForce(dependencies);
  return jsonResponse({ resumed: ended === null ? null : pauseShape(ended), data });
}

async function pausesInForce({ db, databaseTime }: ApiContext): Promise<PauseShape[]> {
  const pauses = await readPauses(db, databaseTime());
  return pauses.map(pauseShape);
}

async function readTarget(
  { db }: ApiContext,
  call: Call,
  schema: z.ZodType<z.output<typeof pauseBody>> & { readonly shape: object },
): Promise<{ readonly scope: string; readonly message: string | null } | Response> {
  const query = parseQuery(noQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const value = await readJsonBody(call.request);
  if ("problem" in value) return problemResponse(value.problem);
  const parsed = schema.safeParse(value.json);
  if (!parsed.success)
    return problemResponse(invalid(problemsOf(parsed.error, value.json, () => Object.keys(schema.shape))));
  const { model, submission, reason: message = null } = parsed.data;
  if (model !== undefined && submission !== undefined) {
    const detail = "give a model or a submission, not both";
    return problemResponse(invalid([{ pointer: "/submission", detail }]));
  }
  if (submission !== undefined) {
    const id = parseSubmissionId(submission);
    const row = id === null ? null : await readSubmission(db, id);
    if (row === null || !allowsCollection(call.key, row.collection)) return noSubmission();
    return { scope: submissionScope(row.id), message };
  }
  if (call.key.collections !== null) {
    const detail = "The key is limited to some collections: it may pause and resume their submissions only.";
    return problemResponse({ name: "forbidden", detail });
  }
  return { scope: model === undefined ? EVERYTHING : modelScope(model), message };
}

/** No body is an empty object; the runtime tells it from one of no bytes by reading only. */
async function readJsonBody(request: Request): Promise<{ readonly json: unknown } | { readonly problem: Problem }> {
  const body = readBody(request);
  if (!body.ok) return { problem: body.error };
  const text = await readText(body.value, MAX_BODY_BYTES, "it holds a model or a submission, and a reason");
  if (!text.ok) return text.error.name === "empty-body" ? { json: {} } : { problem: text.error };
  const problem = typeProblem(request, [JSON_TYPE]);
  if (problem !== null) return { problem };
  const value = parseJson(text.value);
  return value.ok ? { json: value.value } : { problem: { name: "not-json", detail: `It ${value.error}.` } };
}
