import { randomUUID } from "node:crypto";
import type { Submission } from "@sluice/client/library";
import { startProgress, type Progress } from "@sluice/client/progress";
import { plural, print } from "@sluice/client/terminal";
import { ok, type Result } from "@sluice/core";
import type { Stack } from "../runtime.ts";
import { connect, type Access } from "./connect.ts";
import { stage } from "./figures.ts";
import { follow, lost } from "./follow.ts";
import { compareCounts, killHalfway } from "./kill.ts";
import { pushFile } from "./push-file.ts";
import { readBack, readJobs, type ReadBack } from "./read-back.ts";
import type { File } from "./read-file.ts";
import { refusedShortcoming } from "./refused.ts";
import { dispatchedLine, notSucceeded, pushedLines, scoredLine } from "./report.ts";

export interface Surroundings extends Access {
  readonly stack: Stack;
  readonly signal: AbortSignal;
  readonly output: NodeJS.WriteStream;
}

export interface Followed {
  readonly end: Submission;
  readonly back: ReadBack;
  /** Shortcomings, one line each. */
  readonly shortcomings: readonly string[];
}

/** Pushes a file and follows it to its end, with a line per stage. With `kill`, kills the runtime halfway. */
export async function pushAndFollow(
  around: Surroundings,
  file: File,
  kill: boolean,
): Promise<Result<Followed, string>> {
  const { signal } = around;
  using progress = startProgress(around.output, print, () => performance.now());
  const key = randomUUID();
  const push = () => pushFile(connect(around), file, { key, progress, signal });
  const begun = performance.now();
  const pushed = await push();
  if (!pushed.ok) return pushed;
  const { refusedCount, submission } = pushed.value;
  for (const line of pushedLines(pushed.value, file, performance.now() - begun)) progress.print(line);

  const killed = kill ? await killHalfway(around, submission.id, progress) : ok(null);
  if (!killed.ok) return killed;
  const atKill = killed.value;
  let end = await followToEnd(around, submission.id, progress);
  let back = await readBack(connect(around), end.id, signal);
  const kept = atKill === null ? null : compareCounts(atKill, end, back);
  if (atKill !== null && lost(end) > 0) {
    progress.print(
      stage("lost", `${plural(lost(end), "document")} lost with the local Queue, which is in memory: pushed again`),
    );
    const again = await push();
    if (!again.ok) return again;
    end = await follow(connect(around), end.id, { progress, signal });
    back = await readBack(connect(around), end.id, signal);
  }
  progress.print(scoredLine(end, back.scores, performance.now() - begun));

  const shortcomings = notSucceeded(end);
  if (refusedCount > 0) shortcomings.push(refusedShortcoming(refusedCount));
  if (kept !== null) {
    progress.print(kept.line);
    if (!kept.holds) shortcomings.push("The counts before and after the kill do not agree.");
  }
  return ok({ end, back, shortcomings });
}

/** Follows a submission to its end, and reports its jobs once each has a `request_id`. */
async function followToEnd(around: Surroundings, id: string, progress: Progress): Promise<Submission> {
  const { signal } = around;
  const client = connect(around);
  const reportDispatched = async (): Promise<boolean> => {
    const { jobIds } = await readBack(client, id, signal);
    const jobs = await readJobs(client, jobIds, signal);
    if (jobs.length === 0 || jobs.some((job) => job.request_id === null)) return false;
    progress.print(dispatchedLine(jobs));
    return true;
  };
  await follow(client, id, { progress, signal, until: isDispatched });
  const reported = await reportDispatched();
  const end = await follow(client, id, { progress, signal });
  if (!reported) await reportDispatched();
  return end;
}

function isDispatched({ counts, waiting }: Submission): boolean {
  return counts.queued === 0 && waiting?.reason === "answer";
}
