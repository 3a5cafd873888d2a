import { openDatabase } from "@sluice/db";
import { stagePart } from "@sluice/pipeline/message/sql/stage-parts.ts";
import { expect, it } from "vitest";
import { dispatch, jobId, NOW, open, part, record, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import { simulatedD1 } from "../src/d1/simulated-d1.ts";
import { Sqlite } from "../src/d1/sqlite.ts";

const PAGE_BYTES = 4_096;

/*
 * In a WITHOUT ROWID table SQLite loads each row on the path of a lookup completely, to compare keys, so texts there
 * would be read at every step. D1 reports rows read but no bytes, so this test measures the lengths of rows.
 */
it("keeps rows of WITHOUT ROWID tables, which lookups load completely, within a page", async () => {
  const sqlite = new Sqlite();
  const d1 = simulatedD1(
    sqlite,
    async (_, work) => work(),
    () => undefined,
    () => undefined,
  );
  const db = openDatabase(d1);
  const submission = await open(db, { total: 241, closed: false });
  const contexts = Array.from({ length: 5 }, (_, index) => `${index}`.repeat(290));
  const parts = [0, 1, 2].map((number) =>
    part(
      submission,
      number,
      Array.from({ length: 80 }, () => ({ contexts })),
      80 * number,
    ),
  );
  const id = jobId();
  await record(db, id, [parts]);
  await succeed(db, id, await dispatch(db, id), NOW, [0.1, 0.2, 0.3, 0.4, 0.5]);
  const big = part(submission, 3, [{ contexts: ["x".repeat(900_000)] }], 240);
  await stagePart(db, submission, { part: 3, body: big.body, total: 241 }, NOW);

  const longest = new Map(
    sqlite
      .rows(
        `SELECT t.name, t.wr AS keyed, max(s.mx_payload) AS bytes FROM pragma_table_list t
         JOIN dbstat s ON s.name = t.name WHERE t.schema = 'main' GROUP BY t.name`,
      )
      .map(({ name, keyed, bytes }) => [String(name), { keyed: keyed === 1, bytes: Number(bytes) }] as const),
  );
  for (const [table, { keyed, bytes }] of longest) if (keyed) expect(bytes, table).toBeLessThanOrEqual(PAGE_BYTES);
  // The texts exist, and the inspected tables are not empty.
  expect(longest.get("contexts")?.bytes).toBeGreaterThan(100_000);
  expect(longest.get("staged_parts")?.bytes).toBeGreaterThan(900_000);
  for (const table of ["documents", "outcomes", "parts"]) expect(longest.get(table)?.bytes, table).toBeGreaterThan(50);
});
