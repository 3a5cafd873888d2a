import { MAX_PARAMETER_BYTES, utf8Length, type SubmissionId } from "@sluice/core";
import { columns } from "../../platform/sql/columns.ts";
import type { EndingJob, JobEnd, Outcome } from "../../job/job-end.ts";

/** The columns that guard a job: the first of every entry about it. */
export const GUARD = ["job", "dispatchNumber", "jobStatus"] as const;
export const ENDING = columns(...GUARD, "status", "tokens", "reason", "message", "refused", "unconfirmed");
export const CHILD = columns(...GUARD, "id", "round", "dueAt", "refused", "halvings", "members");
export const OUTCOMES = columns(...GUARD, "outcomes");
export const FAILURE = columns("code", "message");

function guardOf({ id, dispatchNumber, status }: EndingJob["job"]) {
  return { job: id, dispatchNumber, jobStatus: status };
}

/** The ends of jobs as JSON: a list of `ENDING` rows. */
export function endingList(ending: readonly EndingJob[]): string {
  return JSON.stringify(
    ending.map(({ job, end }) => {
      const { status, tokens, error } = end;
      const counts = { refused: refusedBatches(end), unconfirmed: end.dispatch === "unconfirmed" ? 1 : 0 };
      return ENDING.list({
        ...guardOf(job),
        status,
        tokens,
        reason: error?.reason,
        message: error?.message,
        ...counts,
      });
    }),
  );
}

/** The batches that the job's row counts too many: the open dispatch's, if it was refused. */
function refusedBatches({ dispatch }: JobEnd): number {
  return dispatch === "none" ? 1 : 0;
}

/** Children as JSON that D1 can bind: lists of `CHILD` rows. */
export function childLists(ending: readonly EndingJob[]): string[] {
  const entries = ending.flatMap(({ job, end }) =>
    end.children.map(({ halvings = 0, ...child }) =>
      JSON.stringify(CHILD.list({ ...guardOf(job), ...child, refused: refusedBatches(end), halvings })),
    ),
  );
  return bounded(entries, (entry) => utf8Length(entry) + 1).map((list) => `[${list.join(",")}]`);
}

export const scoresOf = (outcome: Outcome) => ("scores" in outcome ? outcome.scores : undefined);
export const failureOf = (outcome: Outcome) => ("code" in outcome ? FAILURE.list(outcome) : undefined);

/** An outcome's position in a list, and the JSON of its document and value. */
interface Entry {
  readonly job: EndingJob["job"];
  readonly submission: SubmissionId;
  readonly text: string;
}

/** Maximum bytes around an outcome's entry: a submission's id in quotes, a job's key, brackets, colon and commas. */
const GROUP_BYTES = 150;

/**
 * Outcomes as JSON that D1 can bind: lists of `OUTCOMES` rows, whose outcomes are `{ submission: { document: value }
 * }`. Outcomes without a value are left out.
 */
export function outcomeLists(ending: readonly EndingJob[], valueOf: (outcome: Outcome) => unknown): string[] {
  const entries: Entry[] = [];
  for (const { job, end } of ending) {
    for (const outcome of end.outcomes) {
      const value = valueOf(outcome);
      if (value === undefined) continue;
      const text = `${JSON.stringify(outcome.document)}:${JSON.stringify(value)}`;
      entries.push({ job, submission: outcome.submission, text });
    }
  }
  return bounded(entries, ({ text }) => utf8Length(text) + GROUP_BYTES).map((list) => {
    const jobs = [...Map.groupBy(list, ({ job }) => job)].map(([job, ofJob]) => {
      const groups = [...Map.groupBy(ofJob, ({ submission }) => submission)].map(
        ([submission, group]) => `"${submission}":{${group.map(({ text }) => text).join(",")}}`,
      );
      return OUTCOMES.text({
        job: JSON.stringify(job.id),
        dispatchNumber: `${job.dispatchNumber}`,
        jobStatus: JSON.stringify(job.status),
        outcomes: `{${groups.join(",")}}`,
      });
    });
    return `[${jobs.join(",")}]`;
  });
}

/** Divides entries into consecutive lists of at most `MAX_PARAMETER_BYTES`, including brackets. */
function bounded<T>(entries: readonly T[], bytesOf: (entry: T) => number): T[][] {
  const lists: T[][] = [];
  let bytes = Infinity;
  for (const entry of entries) {
    const size = bytesOf(entry);
    if (bytes + size > MAX_PARAMETER_BYTES) {
      lists.push([]);
      bytes = 2;
    }
    lists.at(-1)?.push(entry);
    bytes += size;
  }
  return lists;
}
