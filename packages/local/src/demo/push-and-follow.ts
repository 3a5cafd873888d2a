import { randomUUID } from "node:crypto";
import { print } from "@sluice/client/terminal";
import { err, ok, type Result } from "@sluice/core";
import type { LocalAiMode } from "../configuration.ts";
import type { Stack } from "../runtime.ts";
import { push, type Api, type Pushed, type Submission } from "./api.ts";
import { counted, stage } from "./figures.ts";
import { follow, isOver, lost } from "./follow.ts";
import { readJobs } from "./jobs.ts";
import { compareCounts, isHalfWay, killAndRestart } from "./kill.ts";
import { startProgress, type Progress } from "./progress.ts";
import { linesOf } from "./read-file.ts";
import { stagedParts } from "./staged.ts";
import { notSucceeded, refusedLines, tellDispatched, tellPushed, tellScored } from "./tell.ts";
import { explainWait } from "./waits.ts";

export interface Surroundings {
  readonly stack: Stack;
  readonly key: string;
  readonly localAi: LocalAiMode;
  readonly signal: AbortSignal;
  readonly output: NodeJS.WriteStream;
}

export interface Followed {
  readonly end: Submission;
  /** Places in the push that were refused, as far as they were told. */
  readonly rejected: ReadonlySet<number>;
  /** What did not succeed, a line each. */
  readonly shortcomings: readonly string[];
}

/** Pushes NDJSON and follows it to its end, with a line a stage. With `kill`, kills the runtime half way. */
export async function pushAndFollow(
  around: Surroundings,
  bytes: Buffer<ArrayBuffer>,
  kill: boolean,
): Promise<Result<Followed, string>> {
  // Its port may be another one after a restart.
  const api = (): Api => ({ url: around.stack.url, key: around.key });
  const begun = performance.now();
  const idempotencyKey = randomUUID();
  const pushed = await push(api(), bytes, idempotencyKey);
  if (!pushed.ok) return pushed;
  tellPushed(pushed.value, bytes.length, performance.now() - begun);
  const { submission } = pushed.value;
  using progress = startProgress(submission.counts.total, around.output);

  const killed = kill ? await killHalfWay(around, api, submission, progress) : ok(null);
  if (!killed.ok) return killed;
  const before = killed.value;
  const told = { dispatched: false };
  const followToEnd = () =>
    follow(api, submission.id, around.signal, async (now) => {
      if (!told.dispatched && now.counts.processing > 0 && now.counts.queued === 0)
        told.dispatched = await tellOnceDispatched(api().url, now, progress);
      const staged = before === null ? 0 : await stagedParts(api().url, now.id);
      progress.show(now.counts, before === null ? "" : await explainWait(api().url, now.id, staged, Date.now()));
      return isOver(now);
    });
  let end = await followToEnd();
  progress.clear();
  if (end === null) return err("Stopped.");
  const kept = before === null ? null : await compareCounts(api().url, before, end);
  if (before !== null && lost(end) > 0) {
    console.log(stage("lost", `${counted(lost(end), "document")} in the local Queue, which is memory: pushed again`));
    const again = await push(api(), bytes, idempotencyKey);
    if (!again.ok) return again;
    end = await followToEnd();
    progress.clear();
    if (end === null) return err("Stopped.");
  }
  if (!told.dispatched) await tellOnceDispatched(api().url, end, progress);
  await tellScored(api().url, end, performance.now() - begun);

  const shortcomings = notSucceeded(end);
  if (pushed.value.rejected_count > 0) shortcomings.push(refusedLines(pushed.value));
  if (kept !== null) {
    print(kept.line);
    if (!kept.holds) shortcomings.push("What was recorded before the kill and what is there after it do not agree.");
  }
  return ok({ end, rejected: rejectedPlaces(bytes, pushed.value.rejected), shortcomings });
}

/** Gives the submission as it was at the kill; `null` where everything was done too soon for one. */
async function killHalfWay(
  { stack, signal }: Surroundings,
  api: () => Api,
  { id }: Submission,
  progress: Progress,
): Promise<Result<Submission | null, string>> {
  const halfWay = await follow(api, id, signal, (now) => {
    progress.show(now.counts);
    return isHalfWay(now) || isOver(now);
  });
  progress.clear();
  if (halfWay === null) return err("Stopped.");
  if (isOver(halfWay)) {
    print(stage("not killed", "everything was done before: try a larger file"));
    return ok(null);
  }
  const failure = await killAndRestart(stack, halfWay);
  return failure === null ? ok(halfWay) : err(failure);
}

/** Tells of the jobs once each has its `request_id`. */
async function tellOnceDispatched(url: string, { id }: Submission, progress: Progress): Promise<boolean> {
  const jobs = await readJobs(url, id);
  if (jobs.length === 0 || jobs.some((job) => job.request_id === null)) return false;
  progress.clear();
  tellDispatched(jobs);
  return true;
}

export function rejectedPlaces(bytes: Uint8Array, rejected: Pushed["rejected"]): Set<number> {
  const numbers = new Set(rejected.map(({ line }) => line));
  const places = new Set<number>();
  for (const { number, place } of linesOf(bytes)) if (numbers.has(number)) places.add(place);
  return places;
}
