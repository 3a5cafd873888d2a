import { dispatchLease } from "../job/schedule.ts";
import { mintJobId, type JobId, type ModelName } from "@sluice/core";
import { planJobs, type PartWeight } from "../job/plan-jobs.ts";
import type { PartMessage } from "./message.ts";
import { partToRecord } from "./part-to-record.ts";
import { readJobContent, type DocumentContent } from "../job/sql/read-job-documents.ts";
import { planTransactions } from "./sql/plan-transactions.ts";
import { recordForgottenParts } from "./sql/record-forgotten-parts.ts";
import { recordParts, type RecordingTransaction } from "./sql/record-parts.ts";
import type { Context } from "../platform/context.ts";

/** A parsed part with its weight. */
export interface PlannedPart {
  readonly part: PartMessage;
  readonly weight: PartWeight;
}

/** Plans the jobs of parts that were delivered together. A job has one model and one lane. */
export function planRecording<Part extends PlannedPart>(parts: readonly Part[]): Part[][] {
  const groups = Map.groupBy(parts, ({ part }) => `${part.model} ${part.lane}`);
  return [...groups.values()].flatMap((group) => planJobs(group));
}

/** A job that this Worker recorded and holds by its lease. */
export interface RecordedJob {
  readonly id: JobId;
  readonly model: ModelName;
  /** UTF-8 bytes of its requests. */
  readonly payloadBytes: number;
  /** Returns the texts of its documents. */
  readonly readContent: () => Promise<readonly DocumentContent[]>;
}

export interface Recorded {
  /** For each part, whether it is recorded now, by this job or another. If not, it must be delivered again. */
  readonly parts: readonly boolean[];
  readonly job: RecordedJob;
}

/**
 * Records the parts of one job, in as many transactions as its size needs. With `keepsContent`, the parts stay in
 * memory until the job is dispatched. Without it, its texts are read from D1 again.
 */
export async function recordJob(
  context: Context,
  parts: readonly [PlannedPart, ...PlannedPart[]],
  keepsContent: boolean,
): Promise<Recorded> {
  const { model, lane } = parts[0].part;
  const job = { id: mintJobId(context.now(), context.randomBytes(10)), model, lane };
  const recorded: boolean[] = [];
  const records = parts.map(({ part, weight }) => partToRecord(part, weight));
  for (const transaction of planTransactions(records)) {
    const now = context.now();
    const lease = { ...job, leaseUntil: now + dispatchLease(context.runInterval) };
    const isRecorded = await recordParts(context.db, lease, transaction, now);
    recorded.push(...(isRecorded.includes(false) ? await recordForgotten(context, job.id, transaction) : isRecorded));
  }
  const readContent = keepsContent
    ? async () => contentOf(parts)
    : () => readJobContent(context.db, { id: job.id, dispatchNumber: 0 });
  const payloadBytes = parts.reduce((sum, { weight }) => sum + weight.payloadBytes, 0);
  return { parts: recorded, job: { id: job.id, model, payloadBytes, readContent } };
}

/**
 * Records those parts of a refused transaction whose collection was deleted, so that neither their messages nor those of
 * their neighbors come back for them. Returns for each part whether it is recorded now.
 */
async function recordForgotten(context: Context, job: JobId, { statements }: RecordingTransaction): Promise<boolean[]> {
  const parts = statements.flatMap(({ contextsRows }) => contextsRows.flatMap((row) => row.parts));
  return recordForgottenParts(context.db, job, parts, context.now());
}

function contentOf(parts: readonly PlannedPart[]): DocumentContent[] {
  return parts.flatMap(({ part }) =>
    part.documents.map((document) => ({
      submission: part.submission,
      document: document.id,
      index: document.place,
      query: document.query,
      contexts: document.contexts,
      truncateInputs: part.truncate_inputs,
    })),
  );
}
