import { ok, type Result } from "@sluice/core";
import { resumeDispatching } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import type * as z from "zod";
import { readNow, type Reader } from "../context.ts";
import type { ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { pauseShape, type PauseShape, type resumeBody } from "../shapes/pause.ts";
import { findPauseScope } from "./find-pause-scope.ts";
import { pausesInForce, type PausesInForce } from "./pause.ts";

interface Input {
  readonly key: ApiKey;
  readonly body: z.output<typeof resumeBody>;
}

/** With the pause that ended; `null`: there was none. */
export interface Resumed extends PausesInForce {
  readonly resumed: PauseShape | null;
}

/** Ends a pause, whoever requested it, and makes the jobs that it held due at once. */
export async function resume(context: Reader, { key, body }: Input): Promise<Result<Resumed, Problem>> {
  const scope = await findPauseScope(context, key, body);
  if (!scope.ok) return scope;
  const ended = await resumeDispatching(context.db, scope.value, await readNow(context));
  const { data } = await pausesInForce(context, key);
  return ok({ resumed: ended === null ? null : pauseShape(ended), data });
}
