import type { JobId, Lane, SubmissionId } from "@sluice/core";
import { recordParts } from "../src/message/sql/record-parts.ts";
import type { Database } from "@sluice/db";
import { jobId, MODEL, open, part, transactionOf, type TestDocument, type TestPart } from "./fixtures.ts";
import { scoreOf } from "./batch-service.ts";

export { open, part, type TestDocument, type TestPart };

/** Creates a document with unique texts. */
export function document(name: string, contexts = 3): Required<Pick<TestDocument, "id" | "query" | "contexts">> {
  return {
    id: name,
    query: `what is ${name}?`,
    contexts: Array.from({ length: contexts }, (_, index) => `text ${index} of ${name}`),
  };
}

/** `prefix0`, `prefix1`, … */
export function documents(prefix: string, count: number, contexts = 3) {
  return Array.from({ length: count }, (_, index) => document(`${prefix}${index}`, contexts));
}

/** The expected rows of the `scores` view for these documents, each score computed from the pair's own texts. */
export function expectedScores(list: readonly TestDocument[]): Record<string, [contextId: string, score: number][]> {
  const scored = list.map(({ id = "", query = "", contexts = [], contextIds }) => {
    const scores = contexts.map((text, index): [string, number] => [
      contextIds?.[index] ?? String(index),
      scoreOf(query, text),
    ]);
    return [id, scores.toSorted(([, a], [, b]) => b - a)] as const;
  });
  return Object.fromEntries(scored);
}

/** The message body of a part, with some fields changed. */
export function bodyOf(recordable: TestPart, changes: Record<string, unknown> = {}): string {
  return JSON.stringify({ ...(JSON.parse(recordable.body) as Record<string, unknown>), ...changes });
}

/** Records documents as one submission in one pending job that is due at `dueAt`. */
export async function recordJob(
  db: Database,
  list: readonly TestDocument[],
  more: { readonly now: number; readonly dueAt: number; readonly lane?: Lane },
): Promise<{ submission: SubmissionId; job: JobId }> {
  const lane = more.lane ?? "bulk";
  const submission = await open(db, { total: list.length, lane }, more.now);
  const job = { id: jobId(more.now), model: MODEL, lane, leaseUntil: more.dueAt } as const;
  await recordParts(db, job, transactionOf([[part(submission, 0, list)]]), more.now);
  return { submission, job: job.id };
}
