import { readPauses, type Pause } from "./sql/pause-dispatching.ts";
import type { DocumentContent } from "./sql/read-job-documents.ts";
import { dispatchJob, type DispatchableJob, type DispatchOutcome } from "./dispatch-job.ts";
import { limitBatches } from "./limit-batches.ts";
import type { Context } from "../platform/context.ts";
import { keepBackPaused } from "./keep-back-paused.ts";

/**
 * Dispatches a job unless it is paused or its documents have no batches left. Only then calls `readContent`, which
 * returns the texts. `pauses` are those in force. They are read again after a refusal, which may have added one that
 * also covers the caller's next job.
 */
export async function dispatchUnlessPaused(
  context: Context,
  job: DispatchableJob,
  readContent: () => Promise<readonly DocumentContent[]>,
  pauses: Pause[],
): Promise<DispatchOutcome | "held"> {
  if (!(await keepBackPaused(context, job, pauses))) return "held";
  if (!(await limitBatches(context, job))) return "held";
  const outcome = await dispatchJob(context, job, await readContent());
  if (outcome === "refused") pauses.splice(0, pauses.length, ...(await readPauses(context.db, context.now())));
  return outcome;
}
