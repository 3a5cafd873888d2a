import { openSubmissions, type Api, type Submission } from "./api.ts";
import { counted, stage } from "./figures.ts";
import { follow, isOver } from "./follow.ts";

/** What an earlier run, that was killed, left open in this state. */
export async function tellLeftovers(api: Api): Promise<Submission[]> {
  const open = await openSubmissions(api);
  const recorded = sum(open, (one) => one.counts.processing);
  const lost = sum(open, (one) => one.counts.queued);
  if (recorded > 0)
    console.log(stage("left over", `${counted(recorded, "document")} of an earlier run, recorded in D1: finished now`));
  if (lost > 0) {
    const ids = open.filter((one) => one.counts.queued > 0).map((one) => one.id);
    const stalled = `${ids.slice(0, 3).join(", ")}${ids.length > 3 ? ", …" : ""}`;
    console.log(
      stage(
        "stalled",
        `${counted(lost, "document")} lost: they were in the local Queue, which is memory, when a run ended (${stalled}): push them again`,
      ),
    );
  }
  return open.filter((one) => one.counts.processing > 0);
}

/** Waits until everything recorded of them has its outcome. */
export async function finishLeftovers(
  api: () => Api,
  leftovers: readonly Submission[],
  signal: AbortSignal,
): Promise<void> {
  for (const { id } of leftovers) {
    const end = await follow(api, id, signal, (one) => isOver(one) || one.counts.processing === 0);
    const { succeeded, failed, canceled } = end.counts;
    console.log(stage("left over", `${id}: ${succeeded} succeeded, ${failed} failed, ${canceled} canceled`));
  }
}

function sum(submissions: readonly Submission[], figure: (submission: Submission) => number): number {
  return submissions.reduce((total, submission) => total + figure(submission), 0);
}
