import { err, ok, type Result } from "@sluice/core";
import type { ApiContext, Call } from "../context.ts";
import { readBody, typeProblem } from "../http/body.ts";
import { invalid, type Problem } from "../http/problems.ts";
import { parseQuery } from "../http/query.ts";
import { JSON_TYPE, NDJSON_TYPES, mediaType } from "../http/respond.ts";
import { declaredBytes, expectedBytes } from "../push/bodies-in-work.ts";
import { readIdempotencyHeader } from "../push/idempotency.ts";
import { pushQuerySchema } from "../push/options.ts";
import { pushDocuments as push, type PushedDocuments, type PushInput } from "../verbs/push-documents.ts";

/** A push by its content type and encoding, its `Idempotency-Key` and its query, checked in this order. */
export async function pushDocuments(context: ApiContext, call: Call): Promise<Result<Response, Problem>> {
  const input = readPush(call);
  if (!input.ok) return input;
  const pushed = await push(context, input.value);
  return pushed.ok ? ok(acceptedResponse(pushed.value)) : pushed;
}

function readPush({ request, url, key }: Call): Result<PushInput, Problem> {
  const { headers } = request;
  const problem = typeProblem(request, [JSON_TYPE, ...NDJSON_TYPES]);
  if (problem !== null) return err(problem);
  const idempotencyKey = readIdempotencyHeader(headers.get("idempotency-key"));
  if (!idempotencyKey.ok) return idempotencyKey;
  const query = parseQuery(pushQuerySchema, url.searchParams);
  if (!query.ok) return err(invalid(query.error));
  const body = readBody(request);
  if (!body.ok) return body;
  const kind = mediaType(headers.get("content-type") ?? "") === JSON_TYPE ? "json" : "ndjson";
  const bytes = expectedBytes(headers);
  const declared = declaredBytes(headers) ?? 0;
  return ok({ key, kind, query: query.value, body: body.value, bytes, declared, idempotencyKey: idempotencyKey.value });
}

function acceptedResponse({ submission, status, text, isReplayed, resumed }: PushedDocuments): Response {
  const headers = new Headers({ "content-type": JSON_TYPE, location: `/v1/submissions/${submission}` });
  if (isReplayed) headers.set("idempotency-replayed", "true");
  if (resumed !== null) headers.set("idempotency-resumed", String(resumed));
  return new Response(text, { status, headers });
}
