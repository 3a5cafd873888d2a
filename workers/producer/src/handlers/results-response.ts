import { ok, type Result } from "@sluice/core";
import type { ApiContext, Call } from "../context.ts";
import type { Problem } from "../http/problems.ts";
import { NDJSON_TYPES, pageResponse, wantsNdjson } from "../http/respond.ts";
import { listResults as listPage, type ResultsInput } from "../verbs/list-results.ts";
import { streamResults } from "../verbs/stream-results.ts";

/** A page of results, as JSON or NDJSON; as NDJSON without `limit`, a stream of all of them. */
export async function listResults(
  context: ApiContext,
  input: ResultsInput,
  call: Call,
): Promise<Result<Response, Problem>> {
  if (wantsNdjson(call.request) && input.query.limit === undefined) {
    const stream = await streamResults(context, input);
    return stream.ok ? ok(new Response(stream.value, { headers: { "content-type": NDJSON_TYPES[0] } })) : stream;
  }
  const page = await listPage(context, input);
  return page.ok ? ok(pageResponse(call, page.value)) : page;
}
