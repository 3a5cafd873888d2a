import { print } from "@sluice/client/terminal";
import * as z from "zod";
import type { Stack } from "../runtime.ts";
import type { Submission } from "./api.ts";
import { queryD1 } from "./d1.ts";
import { count, counted, seconds, stage } from "./figures.ts";
import { ended, recorded } from "./follow.ts";

/** Half way: something is recorded for good, and something is not done. */
export function isHalfWay(submission: Submission): boolean {
  return recorded(submission) * 2 >= submission.counts.total && ended(submission) < submission.counts.total;
}

/** Kills the runtime and starts it again. Gives the line to print when it does not come up. */
export async function killAndRestart(stack: Stack, submission: Submission): Promise<string | null> {
  const { queued, processing, succeeded } = submission.counts;
  print(
    stage(
      "killed",
      `the runtime, with ${count(processing + succeeded)} recorded (${count(succeeded)} scored) and ${count(queued)} in the Queue`,
    ),
  );
  const started = performance.now();
  const restarted = await stack.restartAfterKill();
  if (!restarted.ok) return restarted.error;
  const leases = "what a Worker had in hand is due again when its lease runs out";
  print(stage("restarted", `on the same state in ${seconds(performance.now() - started)}; ${leases}`));
  return null;
}

/** Proves what the kill did not do. Gives the line that says it, and whether it holds. */
export async function compareCounts(
  url: string,
  before: Submission,
  after: Submission,
): Promise<{ line: string; holds: boolean }> {
  const [row] = await queryD1(
    url,
    `SELECT count(*) AS documents, count(o.document_id) AS outcomes
     FROM parts p CROSS JOIN json_each(p.documents) d
     LEFT JOIN outcomes o ON o.document_id = d.value AND o.submission_id = p.submission_id
       AND o.collection = (SELECT collection FROM submissions WHERE id = p.submission_id)
     WHERE p.submission_id = ?1`,
    [after.id],
    z.object({ documents: z.number(), outcomes: z.number() }),
  );
  const { documents = 0, outcomes = 0 } = row ?? {};
  const holds =
    documents >= recorded(before) &&
    documents === recorded(after) &&
    outcomes === ended(after) &&
    outcomes === documents;
  const line =
    `${counted(recorded(before), "document")} recorded before the kill; D1 holds ${count(documents)} with ` +
    `${counted(outcomes, "outcome")}, the counters say ${count(ended(after))}: ` +
    (holds ? "nothing lost, nothing counted twice" : "these do not agree");
  return { line: stage("kept", line), holds };
}
