import { env } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import type { RequestId } from "@sluice/core";
import { claimReportedJobs } from "../../src/job/sql/claim-reported-jobs.ts";
import { openDatabase } from "@sluice/db";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { NOW } from "../../test-support/fixtures.ts";

const id = (name: string) => name as RequestId;

/** Creates jobs `j1` … with the batches `b1` …; every other one has ended. */
async function insertJobs(count: number): Promise<void> {
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
     INSERT INTO jobs (id, model, lane, status, round, dispatch_number, document_count, context_count, payload_bytes,
       request_id, due_at, created_at, dispatched_at, ended_at, finalized_sequence, members)
     SELECT 'j' || i, '@cf/baai/bge-m3', 'bulk', iif(i % 2, 'dispatched', 'succeeded'), 1, 1, 1, 2, 100,
       'b' || i, iif(i % 2, ?2 + 60000, NULL), ?2, ?2, iif(i % 2, NULL, ?2), iif(i % 2, NULL, i), '[]' FROM n`,
  )
    .bind(count, NOW)
    .run();
}

const WAITS = { waitMs: 7_000, eagerMs: 600_000 };

beforeEach(async () => {
  await env.DB.exec("DELETE FROM jobs");
});

it("claims the open jobs of these batches in one statement, and no others", async () => {
  await insertJobs(5);
  const { d1, counts } = countedDatabase(env.DB);
  const claimed = await claimReportedJobs(openDatabase(d1), [id("b1"), id("b4"), id("b5"), id("other")], WAITS, NOW);
  expect(claimed.map((job) => job.requestId).toSorted()).toEqual(["b1", "b5"]);
  expect(claimed[0]).toMatchObject({
    status: "dispatched",
    lane: "bulk",
    dispatchNumber: 1,
    contexts: 2,
    dispatchedAt: NOW,
  });
  const { results } = await env.DB.prepare("SELECT id FROM jobs WHERE due_at = ? ORDER BY id")
    .bind(NOW + 7_000)
    .all();
  expect(results).toEqual([{ id: "j1" }, { id: "j5" }]);
  expect(counts).toHaveLength(1);
});

it("reads a few rows per batch, for any number of open jobs", async () => {
  await insertJobs(20_000);
  const { d1, counts } = countedDatabase(env.DB);
  const named = Array.from({ length: 100 }, (_, n) => id(n < 50 ? `b${400 * n + 1}` : `foreign-${n}`));
  expect(await claimReportedJobs(openDatabase(d1), named, WAITS, NOW)).toHaveLength(50);
  expect(counts[0]?.read).toBeLessThanOrEqual(5 * 100);
  expect(counts[0]?.written).toBeLessThanOrEqual(2 * 50);
});
