import { describe, expect, it } from "vitest";
import {
  DEFAULT_MODEL,
  estimateCost,
  MAX_PART_BYTES,
  measureDocument,
  PushTally,
  scaleTotals,
  type Document,
  type PushTotals,
} from "../src/index.ts";

const MILLION = 1_000_000;

function documentOf(id: string, more: Partial<Document> = {}): Document {
  return {
    id,
    query: "q".repeat(60),
    contexts: Array(5).fill("c".repeat(277)),
    contextIds: null,
    metadata: null,
    ...more,
  };
}

function totalsOf(documents: Iterable<Document>): PushTotals {
  const tally = new PushTally(DEFAULT_MODEL);
  for (const document of documents) {
    const measured = measureDocument(document);
    if (!measured.ok) throw new Error(measured.error.detail);
    tally.add(document, measured.value);
  }
  return tally.totals;
}

function* many(count: number, more: Partial<Document> = {}): Generator<Document> {
  for (let index = 0; index < count; index += 1) yield documentOf(`d${String(index).padStart(6, "0")}`, more);
}

describe("the cost estimate of a push", () => {
  it("does not multiply the fixed cost of a push", () => {
    const [one, forty] = [1, 40].map((count) => estimateCost(scaleTotals(totalsOf(many(count)), MILLION)));
    expect(one).toEqual(forty);
    expect(estimateCost(totalsOf(many(1))).usd.d1 * MILLION).toBeGreaterThan(4 * (one?.usd.d1 ?? Infinity));
  });

  it("gives the same for a large push as for a small one scaled to that size", () => {
    const large = estimateCost(totalsOf(many(20_000)));
    const scaled = estimateCost(scaleTotals(totalsOf(many(40)), 20_000));
    expect(scaled).toEqual(large);
  });

  it("is close to the benchmark's counts for a million documents of 1.5 KB in bulk", () => {
    const { usd, rowsWritten, queueOperations } = estimateCost(scaleTotals(totalsOf(many(1)), MILLION));
    expect(rowsWritten / MILLION).toBeGreaterThan(2.04);
    expect(rowsWritten / MILLION).toBeLessThan(2.1);
    expect(queueOperations / MILLION).toBeCloseTo(0.0725, 2);
    expect(usd.workersAi).toBeCloseTo(5.1, 5);
    expect(usd.total).toBeCloseTo(usd.workersAi + usd.queues + usd.d1 + usd.workers, 12);
  });

  it("sends a document that is too large for a message by reference, staged in D1", () => {
    const huge = documentOf("huge", { contexts: ["c".repeat(MAX_PART_BYTES)] });
    const { messages, queueOperations, rowsWritten } = estimateCost(totalsOf([huge]));
    expect({ messages, queueOperations }).toEqual({ messages: 1, queueOperations: 3 });
    expect(rowsWritten - estimateCost(totalsOf(many(1))).rowsWritten).toBe(3);
  });

  it("counts an operation for each 64 KB written, read and deleted", () => {
    const [small, large] = [60_000, 70_000].map((length) =>
      estimateCost(totalsOf([documentOf("a", { contexts: ["c".repeat(length)] })])),
    );
    expect([small?.queueOperations, large?.queueOperations]).toEqual([3, 6]);
  });

  it("is zero without documents", () => {
    expect(estimateCost(totalsOf([]))).toMatchObject({ messages: 0, jobs: 0, rowsWritten: 0, usd: { total: 0 } });
    expect(estimateCost(scaleTotals(totalsOf([]), MILLION)).usd.total).toBe(0);
  });
});
