import { dispatchLease, mintJobId, planJobs, type PartMessage, type PartWeight } from "@sluice/core";
import { describeError, partToRecord, recordParts, type DocumentContent, type Pause } from "@sluice/db";
import { chunkParts } from "./chunk-parts.ts";
import { dispatchUnlessPaused } from "./dispatch-unless-paused.ts";
import type { StepIo } from "./io.ts";

/** A part that was read and weighed. */
export interface PlannedPart {
  readonly part: PartMessage;
  readonly weight: PartWeight;
}

/** Staged parts that are in memory at once, each up to 1 MB: about a job's worth. */
export const STAGED_AT_ONCE = 9;

/** Plans the jobs of parts that came together: a job holds one model and lane. */
export function planRecording<Part extends PlannedPart>(parts: readonly Part[]): Part[][] {
  const groups = Map.groupBy(parts, ({ part }) => `${part.model} ${part.lane}`);
  return [...groups.values()].flatMap((group) => planJobs(group));
}

/**
 * Records the parts of one job, in as many transactions as its size asks for, and dispatches it
 * unless it is paused; `pauses` are kept up to date. Gives for each part whether it is recorded now, by this job or another;
 * one that is not must come again. What befalls the dispatch befalls the job, not its parts.
 */
export async function recordJob(io: StepIo, parts: readonly PlannedPart[], pauses: Pause[]): Promise<boolean[]> {
  const [first] = parts;
  if (first === undefined) return [];
  const { model, lane } = first.part;
  const job = { id: mintJobId(io.now(), io.randomBytes(10)), model, lane };
  const recorded: boolean[] = [];
  for (const chunks of chunkParts(parts.map(({ part, weight }) => partToRecord(part, weight)))) {
    const now = io.now();
    recorded.push(
      ...(await recordParts(io.db, { ...job, leaseUntil: now + dispatchLease(io.runInterval) }, chunks, now)),
    );
  }
  try {
    const pending = { ...job, status: "pending", attempt: 0, round: 1, refusals: 0, repeats: 0 } as const;
    await dispatchUnlessPaused(io, pending, async () => contentOf(parts), pauses);
  } catch (error) {
    // The job is recorded: once its lease has run out the poller takes it from here.
    io.log({ event: "dispatch_broke_off", job: job.id, ...describeError(error) });
  }
  return recorded;
}

function contentOf(parts: readonly PlannedPart[]): DocumentContent[] {
  return parts.flatMap(({ part }) =>
    part.documents.map((document) => ({
      submission: part.submission,
      document: document.id,
      place: document.place,
      query: document.query,
      contexts: document.contexts,
      truncateInputs: part.truncate_inputs,
    })),
  );
}
