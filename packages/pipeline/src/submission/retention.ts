import type { DatabaseLevel } from "@sluice/core";
import { expireScoresStep } from "../document/expire-scores.ts";
import { expireTextsStep } from "../document/expire-texts.ts";
import { forgetVersionsStep } from "../document/forget-versions.ts";
import { listPartsStep } from "../document/list-parts-of-texts.ts";
import { deleteJobsStep } from "../job/delete-ended-jobs.ts";
import type { PollerContext } from "../job/poller-context.ts";
import type { RunBudget } from "../job/run-budget.ts";
import { deleteMessagesStep } from "../message/delete-old-messages.ts";
import type { Context } from "../platform/context.ts";
import { deleteSubmissionsStep } from "./delete-submissions.ts";
import {
  isUnderPressure,
  passInterval,
  RETENTION_STATEMENTS,
  retentionLimits,
  type RetentionSettings,
} from "./retention-rules.ts";
import type { RetentionStep, StepEnd } from "./retention-step.ts";
import { deleteExpiredKeys } from "./sql/delete-expired-keys.ts";
import {
  advanceRetention,
  readRetentionProgress,
  type RetentionMove,
  type RetentionProgress,
  type RetentionTask,
} from "./sql/retention-progress.ts";

/** Maximum statements of one step. */
export const STEP_STATEMENTS = 12;
/** A run starts no step after this. */
const MAX_RETENTION_MS = 20_000;

/** Maximum idempotency keys that a run deletes. */
const MAX_KEYS = 1_000;

/** A task in a run. */
interface Work {
  readonly task: RetentionTask;
  readonly kind: "texts" | "history";
  readonly step: RetentionStep;
}

/** Retention with these settings, for the poller. */
export function retainWith(settings: RetentionSettings): NonNullable<PollerContext["retain"]> {
  return (context, level, budget) => retain(context, settings, level, budget);
}

/**
 * Deletes what is old enough, or what the level of the database demands, in small guarded steps, until nothing is left,
 * the time is up or the budget is used up. Under pressure, age does not matter, and each task waits for the one before.
 * Deletes first: in a full database, that makes room for its progress. If nothing is old enough, sends one statement per
 * task and two more, and writes nothing.
 */
export async function retain(
  context: Context,
  settings: RetentionSettings,
  level: DatabaseLevel,
  budget: Pick<RunBudget, "statementsLeft">,
): Promise<void> {
  const startedAt = context.now();
  const before = context.statements();
  const canStep = () =>
    context.statements() - before + STEP_STATEMENTS <= RETENTION_STATEMENTS &&
    budget.statementsLeft >= STEP_STATEMENTS &&
    context.now() - startedAt < MAX_RETENTION_MS;
  const known = await readRetentionProgress(context.db);
  const tasks = [LISTING, ...tasksOf(settings, level, startedAt)].map(
    (work) => new Pass(context, work, known.get(work.task), passInterval(settings, level, work.kind)),
  );
  let steps = 0;
  for (const turn of turnsOf(tasks, level)) {
    for (let left = turn; left.length > 0; left = left.filter((task) => !task.isDone)) {
      for (const task of left) {
        if (!canStep()) return logged();
        await task.step();
        steps += task.isDone ? 0 : 1;
      }
    }
  }
  if (canStep()) await deleteExpiredKeys(context.db, startedAt, MAX_KEYS);
  return logged();

  function logged(): void {
    if (steps > 0) context.log({ event: "retained", level, steps, milliseconds: context.now() - startedAt });
  }
}

/** Comes first: incomplete lists would let texts of documents in progress expire. */
const LISTING: Work = { task: "list_parts", kind: "texts", step: listPartsStep };

/** The tasks, those whose rows are missed least first. */
function tasksOf(settings: RetentionSettings, level: DatabaseLevel, now: number): Work[] {
  const limits = retentionLimits(settings, level, now);
  const pressed: Work[] = isUnderPressure(level)
    ? [{ task: "failed_texts", kind: "texts", step: expireTextsStep(limits.texts, true) }]
    : [];
  return [
    { task: "texts", kind: "texts", step: expireTextsStep(limits.texts, false) },
    { task: "history", kind: "history", step: forgetVersionsStep(limits) },
    ...pressed,
    { task: "jobs", kind: "history", step: deleteJobsStep(limits.jobs) },
    { task: "submissions", kind: "history", step: deleteSubmissionsStep(limits.submissions) },
    { task: "malformed", kind: "history", step: deleteMessagesStep(limits.malformed) },
    ...(limits.scores === null
      ? []
      : [{ task: "scores", kind: "history", step: expireScoresStep(limits.scores) } as const]),
  ];
}

/** Under pressure, one task after another. Otherwise, all but the first share the time. */
function turnsOf([listing, ...tasks]: readonly Pass[], level: DatabaseLevel): Pass[][] {
  const first = listing === undefined ? [] : [[listing]];
  return isUnderPressure(level) ? [...first, ...tasks.map((task) => [task])] : [...first, tasks];
}

/**
 * A pass of a task over its rows, the oldest first. After its end, later runs continue with rows that have become old
 * enough, until the next pass begins.
 */
class Pass {
  readonly #context: Context;
  readonly #work: Work;
  #cursor: string | null;
  #isFirst: boolean;
  #isEnded: boolean;
  isDone = false;

  constructor(context: Context, work: Work, known: RetentionProgress | undefined, interval: number) {
    const { cursor = null, startedAt = null, endedAt = null } = known ?? {};
    const age = context.now() - (startedAt ?? 0);
    this.#context = context;
    this.#work = work;
    this.#isEnded = startedAt !== null && endedAt !== null && endedAt >= startedAt;
    // A time ahead of now was written by a wrong clock.
    this.#isFirst = cursor === null || (this.#isEnded && (age >= interval || age < 0));
    this.#cursor = this.#isFirst ? null : cursor;
    if (this.#isFirst) this.#isEnded = false;
  }

  async step(): Promise<void> {
    const { db } = this.#context;
    const now = this.#context.now();
    let moves = 0;
    const move = (end: StepEnd): RetentionMove => {
      moves += 1;
      return { task: this.#work.task, isFirst: this.#isFirst, ...end };
    };
    const end = await this.#work.step(db, this.#cursor, move, now);
    // A pass that ended without a change is noted, so that the next one can begin.
    if (moves === 0 && end.isLast && !this.#isEnded && end.cursor !== null) await advanceRetention(db, move(end), now);
    this.#cursor = end.cursor;
    if (moves > 0) this.#isFirst = false;
    this.isDone = end.isLast;
  }
}
