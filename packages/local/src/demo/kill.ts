import { hasEnded, type Submission } from "@sluice/client/library";
import type { Progress } from "@sluice/client/progress";
import { count, duration, plural } from "@sluice/client/terminal";
import { ok, type Result } from "@sluice/core";
import type { Stack } from "../runtime.ts";
import { connect, type Access } from "./connect.ts";
import { stage } from "./figures.ts";
import { ended, follow, recorded } from "./follow.ts";
import type { ReadBack } from "./read-back.ts";

interface Around extends Access {
  readonly stack: Stack;
  readonly signal: AbortSignal;
}

/**
 * Kills the runtime once half of a submission is recorded, and restarts it. Returns the submission as it was at the
 * kill, `null` if it ended too soon for a kill, or the reason the runtime does not restart.
 */
export async function killHalfway(
  around: Around,
  id: string,
  progress: Progress,
): Promise<Result<Submission | null, string>> {
  const { signal, stack } = around;
  const atKill = await follow(connect(around), id, { progress, signal, until: isHalfway });
  if (hasEnded(atKill)) {
    progress.print(stage("not killed", "everything ended before the kill; try a larger file"));
    return ok(null);
  }
  const { queued, processing, succeeded } = atKill.counts;
  const figures = `${count(processing + succeeded)} recorded (${count(succeeded)} scored) and ${count(queued)} in the Queue`;
  progress.print(stage("killed", `the runtime, with ${figures}`));
  const started = performance.now();
  const restarted = await stack.restartAfterKill();
  if (!restarted.ok) return restarted;
  const leases = "interrupted work is due again when its lease expires";
  progress.print(stage("restarted", `on the same state in ${duration(performance.now() - started)}; ${leases}`));
  return ok(atKill);
}

/** Whether some documents are recorded and some have not ended. */
function isHalfway(submission: Submission): boolean {
  return recorded(submission) * 2 >= submission.counts.total && ended(submission) < submission.counts.total;
}

/**
 * Compares what was recorded at the kill with what the API returns. Returns the line to print, and whether the counts
 * agree.
 */
export function compareCounts(
  atKill: Submission,
  end: Submission,
  back: Pick<ReadBack, "documents" | "ended">,
): { readonly line: string; readonly holds: boolean } {
  const holds =
    back.documents >= recorded(atKill) &&
    back.documents === recorded(end) &&
    back.ended === ended(end) &&
    back.ended === back.documents;
  const line =
    `${plural(recorded(atKill), "document")} recorded before the kill. The API lists ${count(back.documents)}, ` +
    `${count(back.ended)} of them ended, and counts ${count(ended(end))}: ` +
    (holds ? "nothing lost, nothing counted twice" : "the counts do not agree");
  return { line: stage("kept", line), holds };
}
