import { ok, type Result } from "@sluice/core";
import { SUBMISSION_SCOPE } from "@sluice/pipeline/job/pause-scopes.ts";
import { pauseDispatching, readPauses, type Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import type * as z from "zod";
import { readNow, type Reader } from "../context.ts";
import type { ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { pauseShape, type pauseBody, type PauseShape } from "../shapes/pause.ts";
import { findPauseScope } from "./find-pause-scope.ts";
import { findSubmission } from "./get-submission.ts";

interface Input {
  readonly key: ApiKey;
  readonly body: z.output<typeof pauseBody>;
}

export interface PausesInForce {
  readonly data: readonly PauseShape[];
}

/** Stops dispatching. Jobs that Workers AI has already are still polled and finalized. */
export async function pause(context: Reader, { key, body }: Input): Promise<Result<PausesInForce, Problem>> {
  const scope = await findPauseScope(context, key, body);
  if (!scope.ok) return scope;
  const since = await readNow(context);
  const message = body.reason ?? null;
  await pauseDispatching(context.db, { scope: scope.value, reason: "requested", message, since, until: null });
  return ok(await pausesInForce(context, key));
}

/** The pauses in force that the key may see: all but those of other collections' submissions. */
export async function pausesInForce(context: Reader, key: ApiKey): Promise<PausesInForce> {
  const pauses = await readPauses(context.db, context.databaseTime());
  const seen = await Promise.all(pauses.map((one) => maySeePause(context, key, one)));
  return { data: pauses.filter((_, index) => seen[index]).map(pauseShape) };
}

async function maySeePause(context: Reader, key: ApiKey, { scope }: Pause): Promise<boolean> {
  if (key.collections === null || !scope.startsWith(SUBMISSION_SCOPE)) return true;
  return (await findSubmission(context, { key, id: scope.slice(SUBMISSION_SCOPE.length) })).ok;
}
