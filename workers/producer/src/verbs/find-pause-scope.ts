import { err, ok, type Result } from "@sluice/core";
import { EVERYTHING, modelScope, submissionScope } from "@sluice/pipeline/job/pause-scopes.ts";
import type * as z from "zod";
import type { Reader } from "../context.ts";
import type { ApiKey } from "../http/keys.ts";
import { invalid, type Problem } from "../http/problems.ts";
import type { resumeBody } from "../shapes/pause.ts";
import { findSubmission } from "./get-submission.ts";

/** What a request names to pause or resume, if its key may do that. */
export async function findPauseScope(
  context: Reader,
  key: ApiKey,
  { model, submission }: z.output<typeof resumeBody>,
): Promise<Result<string, Problem>> {
  if (model !== undefined && submission !== undefined) {
    return err(invalid([{ pointer: "/submission", detail: "give a model or a submission, not both" }]));
  }
  if (submission !== undefined) {
    const found = await findSubmission(context, { key, id: submission });
    return found.ok ? ok(submissionScope(found.value.id)) : found;
  }
  if (key.collections !== null) {
    const detail = "The key is limited to some collections: it may pause and resume their submissions only.";
    return err({ name: "forbidden", detail });
  }
  return ok(model === undefined ? EVERYTHING : modelScope(model));
}
