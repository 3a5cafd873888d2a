import { ok, type Result } from "@sluice/core";
import { pauseDispatching, readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import type * as z from "zod";
import { readNow, type Reader } from "../context.ts";
import type { ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { pauseShape, type pauseBody, type PauseShape } from "../shapes/pause.ts";
import { findPauseScope } from "./find-pause-scope.ts";

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
  return ok(await pausesInForce(context));
}

export async function pausesInForce({ db, databaseTime }: Reader): Promise<PausesInForce> {
  const pauses = await readPauses(db, databaseTime());
  return { data: pauses.map(pauseShape) };
}
