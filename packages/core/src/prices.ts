/** List prices in dollars per unit, without free tiers (developers.cloudflare.com, November 2026). */
export const PRICES = {
  queueOperation: 0.4 / 1e6,
  rowWritten: 1 / 1e6,
  rowRead: 0.001 / 1e6,
  workerRequest: 0.3 / 1e6,
  /** A gigabyte in D1 for a month. */
  gigabyteMonth: 0.75,
  bgeM3Token: 0.012 / 1e6,
  /** bge-reranker-base, which the Batch API does not support. */
  rerankerToken: 0.0031 / 1e6,
} as const;

/** A message is written, read and deleted. */
export const OPERATIONS_PER_MESSAGE = 3;

/** A Queue operation covers up to 64,000 bytes of a message. */
const OPERATION_BYTES = 64_000;

/** The operations billed for writing, reading or deleting a message of this size. */
export function queueOperations(messageBytes: number): number {
  return Math.max(1, Math.ceil(messageBytes / OPERATION_BYTES));
}
