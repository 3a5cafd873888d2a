import { MAX_JOB_BYTES, MAX_JOB_CONTEXTS, MAX_JOB_DOCUMENTS, MAX_JOB_MEMBER_BYTES } from "@sluice/core";
import { sluice } from "../arms/index.ts";
import { LARGE, makeDocuments, MIDDLE, SMALL, toBodies, type DocumentShape } from "../documents.ts";
import type { Stack } from "../runtime/stack.ts";

/** The jobs of one delivery, the largest in the run. */
export interface Delivery {
  readonly shape: string;
  readonly messages: number;
  readonly documents: number;
  readonly jobs: number;
  /** The lower bound for any packing: the largest ratio of a total to a job's limit. */
  readonly fewest: number;
  /** The lowest use of the limiting resource over all jobs but the last. */
  readonly leastFull: number;
}

const MANY_CONTEXTS: DocumentShape = { name: "100 contexts", bytes: 3_500, contexts: 100 };
export interface DeliveryCase {
  readonly shape: DocumentShape;
  readonly count: number;
}

/** Enough documents for a delivery of 100 messages, for each limit of a job that may be reached first. */
export const CASES: readonly DeliveryCase[] = [
  { shape: MIDDLE, count: 8_600 },
  { shape: SMALL, count: 40_000 },
  { shape: MANY_CONTEXTS, count: 2_600 },
  { shape: LARGE, count: 650 },
];

interface JobRow {
  readonly documents: number;
  readonly contexts: number;
  readonly bytes: number;
  readonly members: number;
}

/** Lets the Queue deliver its maximum of 100 messages, and reads the resulting jobs. */
export async function measureDeliveries(stack: Stack, cases: readonly DeliveryCase[]): Promise<Delivery[]> {
  const deliveries: Delivery[] = [];
  await stack.plan({});
  for (const { shape, count } of cases) {
    await stack.clear("sluice");
    await sluice.push(stack, toBodies(makeDocuments(shape, count, 14), 45_000_000));
    await sluice.recorded(stack, count);
    const { deliveries: seen } = await stack.takeCounts("sluice");
    const largest = seen.reduce((best, one, index) => (one.messages > (seen[best]?.messages ?? 0) ? index : best), 0);
    const before = seen.slice(0, largest).reduce((sum, { submits }) => sum + submits, 0);
    const { results } = await stack.sql<JobRow>(
      `SELECT document_count AS documents, context_count AS contexts, payload_bytes AS bytes, length(members) AS members
       FROM jobs ORDER BY id LIMIT ${seen[largest]?.submits ?? 0} OFFSET ${before}`,
    );
    deliveries.push({
      shape: shape.name,
      messages: seen[largest]?.messages ?? 0,
      documents: results.reduce((sum, job) => sum + job.documents, 0),
      jobs: results.length,
      fewest: Math.max(...shares(sumOf(results)).map(Math.ceil)),
      leastFull: Math.min(1, ...results.slice(0, -1).map((job) => Math.max(...shares(job)))),
    });
  }
  return deliveries;
}

function shares({ documents, contexts, bytes, members }: JobRow): number[] {
  return [
    documents / MAX_JOB_DOCUMENTS,
    contexts / MAX_JOB_CONTEXTS,
    bytes / MAX_JOB_BYTES,
    members / MAX_JOB_MEMBER_BYTES,
  ];
}

function sumOf(jobs: readonly JobRow[]): JobRow {
  const sum = { documents: 0, contexts: 0, bytes: 0, members: 0 };
  for (const job of jobs)
    for (const key of ["documents", "contexts", "bytes", "members"] as const) sum[key] += job[key];
  return sum;
}
