import { ABANDONED_AFTER_MS, ROLL_UP_AFTER_MS, MESSAGE_LIFE_MS, stagedAfter, STALLED_AFTER_MS } from "./lifetimes.ts";
import { parseMessage } from "../message/message.ts";
import { weighPart } from "../job/plan-jobs.ts";
import type { SubmissionId } from "@sluice/core";
import { dropEndedPauses } from "../job/sql/pause-dispatching.ts";
import { rollUpTotals } from "./sql/roll-up-totals.ts";
import { quarantineMessage, STAGED_PARTS } from "../message/sql/quarantine-message.ts";
import { listStagedParts, sweepSubmissions } from "./sql/sweep-submissions.ts";
import { postponeStagedPart, unstagePart } from "../message/sql/stage-parts.ts";
import { dispatchRecorded } from "../message/dispatch-recorded.ts";
import { STAGED_AT_ONCE } from "../message/fetch-staged.ts";
import { planRecording, type PlannedPart, type RecordedJob } from "../message/record-job.ts";
import { recordApart } from "../message/record-apart.ts";
import type { Context } from "../platform/context.ts";
import type { RunBudget } from "../job/run-budget.ts";

/** Maximum folds in one run, of 5,000 submissions and jobs each: enough for 300 per second. */
const MAX_ROLL_UPS = 20;
/** Statements of a fold, and of a round of staged parts: at most nine parts, each in its own job if D1 refuses some. */
const ROLL_UP_STATEMENTS = 8;
const STAGED_STATEMENTS = 60;
/** Maximum rounds of staged parts in one run. */
const MAX_STAGED_ROUNDS = 10;

/**
 * Does the work that no message and no job triggers: closes abandoned pushes, counts lost documents, and records staged
 * parts whose message is overdue, within the budget of statements. Runs once every five minutes.
 */
export async function runMaintenance(context: Context, budget: RunBudget): Promise<void> {
  const now = context.now();
  await sweepSubmissions(context.db, {
    now,
    settledBy: now - STALLED_AFTER_MS,
    abandonedBefore: now - ABANDONED_AFTER_MS,
    lostBefore: now - MESSAGE_LIFE_MS,
  });
  await dropEndedPauses(context.db, now);
  const canFold = (folds: number) => folds < MAX_ROLL_UPS && budget.statementsLeft >= ROLL_UP_STATEMENTS;
  for (let folds = 1; (await rollUpTotals(context.db, now - ROLL_UP_AFTER_MS)) && canFold(folds); folds += 1);
  const canRecord = (round: number) => round < MAX_STAGED_ROUNDS && budget.statementsLeft >= STAGED_STATEMENTS;
  for (let round = 0; canRecord(round) && (await recordStagedParts(context, now)); round += 1);
}

interface StagedPart extends PlannedPart {
  readonly body: string;
}

/** Records the oldest staged parts whose message is overdue. Returns whether there may be more. */
async function recordStagedParts(context: Context, now: number): Promise<boolean> {
  // Quarantined like an unreadable message, so that it does not delay the parts after it.
  const quarantine = async (submission: SubmissionId, part: number, reason: string, body: string) => {
    await quarantineMessage(context.db, { queue: STAGED_PARTS, id: `${submission}/${part}`, reason, body }, now);
    await unstagePart(context.db, submission, part);
    context.log({ event: "staged_part_unreadable", submission, part, reason });
  };
  const staged = await listStagedParts(context.db, now - stagedAfter(context.runInterval), STAGED_AT_ONCE);
  if (staged.length === 0) return false;
  const parts: StagedPart[] = [];
  for (const { body, submission, part: number } of staged) {
    const read = parseMessage(body);
    if (read.ok && read.value.kind === "part") {
      parts.push({ part: read.value, weight: weighPart(read.value), body });
      continue;
    }
    await quarantine(submission, number, read.ok ? "the staged part refers to another part" : read.error, body);
  }
  const jobs: RecordedJob[] = [];
  let recorded = 0;
  let left = 0;
  for (const job of planRecording(parts)) {
    const apart = await recordApart(context, job, true);
    jobs.push(...apart.jobs);
    for (const { part: one, recording } of apart.parts) {
      const { submission, part } = one.part;
      if (recording.kind === "recorded") recorded += 1;
      else if (recording.kind === "unrecorded" || recording.kind === "full") left += 1;
      else if (recording.kind === "unreadable")
        await quarantine(submission, part, "D1 cannot read its documents", one.body);
      else {
        // From now on, the parts after it are recorded first.
        await postponeStagedPart(context.db, submission, part, now);
        context.log({ event: "recording_refused", level: "error", constraint: recording.constraint, submission, part });
      }
    }
  }
  await dispatchRecorded(context, jobs);
  context.log({ event: "staged_parts_recorded", parts: recorded });
  return staged.length === STAGED_AT_ONCE && left === 0;
}
