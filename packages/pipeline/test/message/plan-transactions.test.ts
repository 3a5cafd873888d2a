import { MAX_PARAMETER_BYTES, MAX_SHARED_TEXT_BYTES, MAX_TRANSACTION_BYTES, type SubmissionId } from "@sluice/core";
import type { PartToRecord, RecordingTransaction } from "../../src/message/sql/record-parts.ts";
import { describe, expect, it } from "vitest";
import { planTransactions } from "../../src/message/sql/plan-transactions.ts";

let submissions = 0;

/** Creates a part of one submission with these bytes of texts and of rows for `documents`. */
function partOf(ids: readonly string[], more: { texts?: number; rows?: number; collection?: string } = {}) {
  submissions += 1;
  return {
    submission: `sub_${String(submissions).padStart(36, "0")}` as SubmissionId,
    part: 0,
    hash: "hash",
    collection: more.collection ?? "default",
    documentIds: ids,
    contextCount: ids.length,
    payloadBytes: 100,
    rows: "r".repeat(more.rows ?? 100),
    texts: "t".repeat(more.texts ?? 1_000),
  } satisfies PartToRecord;
}

const parts = (count: number, more: Parameters<typeof partOf>[1] = {}) =>
  Array.from({ length: count }, (_, n) => partOf([`d${n}`], more));

/** Counts the parts in each row of texts, by statement, by transaction. */
const shape = (list: readonly PartToRecord[]) =>
  planTransactions(list).map(({ statements }) =>
    statements.map(({ contextsRows }) => contextsRows.map((row) => row.parts.length)),
  );

const partsIn = ({ statements }: RecordingTransaction) =>
  statements.flatMap(({ contextsRows }) => contextsRows.flatMap((row) => row.parts));

describe("the parts of a job", () => {
  it("keep their order and are complete", () => {
    const list = [...parts(300, { texts: 60_000 }), ...parts(40, { rows: 700_000 })];
    expect(planTransactions(list).flatMap(partsIn)).toEqual(list);
    expect(planTransactions([])).toEqual([]);
  });

  it("share a row of texts up to 128 KB, and a larger one has its own row", () => {
    const eighth = MAX_SHARED_TEXT_BYTES / 8;
    expect(shape(parts(20, { texts: eighth }))).toEqual([[[8, 8, 4]]]);
    expect(shape(parts(9, { texts: eighth + 1 }))).toEqual([[[7, 2]]]);
    const bulk = { texts: MAX_SHARED_TEXT_BYTES - 500 };
    expect(shape([...parts(3, bulk), partOf(["staged"], { texts: 1_000_000 }), partOf(["small"])])).toEqual([
      [[1, 1, 1, 1, 1]],
    ]);
  });

  it("share no row if two of their documents have the same id and collection", () => {
    const list = [
      partOf(["a", "b"]),
      partOf(["c", "d"]),
      partOf(["d", "e"]),
      partOf(["a"]),
      partOf(["a"], { collection: "other" }),
      partOf(["a"]),
    ];
    expect(shape(list)).toEqual([[[2, 3, 1]]]);
  });

  it("start a row with each statement, and a statement with each transaction", () => {
    const half = MAX_PARAMETER_BYTES / 2;
    expect(shape(parts(4, { rows: half - 1_000 }))).toEqual([[[2], [2]]]);
    expect(shape(parts(3, { rows: half }))).toEqual([[[1], [1], [1]]]);
    expect(shape(parts(3, { texts: MAX_TRANSACTION_BYTES / 2 }))).toEqual([[[1]], [[1]], [[1]]]);
  });

  it("fill each transaction to at most 5 MB with texts, rows and ids", () => {
    // All but the last, which has the remaining parts.
    for (const transaction of planTransactions(parts(400, { texts: 100_000, rows: 20_000 })).slice(0, -1)) {
      const bytes = partsIn(transaction).reduce((sum, { texts, rows }) => sum + texts.length + rows.length, 0);
      expect(bytes).toBeLessThanOrEqual(MAX_TRANSACTION_BYTES);
      expect(bytes).toBeGreaterThan(0.95 * MAX_TRANSACTION_BYTES);
    }
  });
});
