import type { SubmissionId } from "@sluice/core";
import * as z from "zod";
import { queryD1 } from "./d1.ts";
import { counted } from "./figures.ts";

/** What a submission waits for right now, in a few words with the time left; empty where that is its turn only. */
export async function explainWait(url: string, submission: SubmissionId, staged: number, now: number): Promise<string> {
  const jobs = await queryD1(
    url,
    `SELECT due_at FROM jobs
     WHERE id IN (SELECT job_id FROM parts WHERE submission_id = ?1) AND due_at IS NOT NULL`,
    [submission],
    z.object({ due_at: z.number() }),
  );
  return describeWait(
    jobs.map((job) => job.due_at),
    staged,
    now,
  );
}

/** Nobody wants to be told of shorter ones. Milliseconds. */
const LEAST_WAIT = 2_000;

/** `dueAt`: when each open job is looked at next, under a lease or not. All times in milliseconds. */
export function describeWait(dueAt: readonly number[], staged: number, now: number): string {
  const held = dueAt.filter((time) => time - now > LEAST_WAIT);
  const words: string[] = [];
  if (held.length > 0) {
    const left = Math.ceil((Math.min(...held) - now) / 1_000);
    words.push(`${counted(held.length, "job")} due in ${left} s`);
  }
  if (staged > 0) words.push(`${counted(staged, "staged part")} to record`);
  return words.join("; ");
}
