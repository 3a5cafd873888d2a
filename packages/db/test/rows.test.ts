import { env } from "cloudflare:test";
import { expect, it } from "vitest";
import { claimDueJobs, openDatabase, readJobContent, readJobDocuments } from "../src/index.ts";
import { countedDatabase, type StatementCount } from "./counted-database.ts";
import { dispatch, jobId, NOW, open, part, record, succeed } from "./fixtures.ts";

/** The way of `count` documents in parts of 250, with D1's own count of each statement. */
async function takeTheWay(count: number): Promise<StatementCount[]> {
  const { d1, counts } = countedDatabase(env.DB);
  const db = openDatabase(d1);
  const submission = await open(db, { total: count });
  const parts = Array.from({ length: count / 250 }, (_, number) =>
    part(submission, number, Array.from({ length: 250 }, () => ({ contexts: ["one context", "and another"] })), number * 250),
  );
  const id = jobId();
  await record(db, id, [parts.slice(0, parts.length / 2), parts.slice(parts.length / 2)]);
  const members = await dispatch(db, id);
  await claimDueJobs(db, { interactive: 20, bulk: 10, dispatchLeaseUntil: NOW + 1, nextPollAt: NOW + 90_000 }, NOW + 60_000);
  await readJobDocuments(db, { id, attempt: 1 });
  await readJobContent(db, { id, attempt: 1 });
  await succeed(db, id, members, NOW + 60_000);
  return counts;
}

const total = (counts: readonly StatementCount[], what: "read" | "written") =>
  counts.reduce((sum, count) => sum + count[what], 0);

it("writes two rows a document and reads in proportion, for 5,000 documents in one job", async () => {
  const counts = await takeTheWay(5_000);
  const stored = await env.DB.prepare("SELECT count(*) AS n FROM outcomes WHERE status = 'succeeded'").first<{ n: number }>();
  expect(stored?.n).toBe(5_000);
  expect(total(counts, "written") / 5_000).toBeLessThanOrEqual(2.02);
  console.log(counts.map((c) => `${c.written} ${c.read} ${c.statement.slice(0, 60)}`).join("\n"));
});
