import { env } from "cloudflare:test";
import { openDatabase, query, takeRows } from "@sluice/db";
import { sql } from "drizzle-orm";
import { expect } from "vitest";
import { RowReporter } from "../../src/platform/row-reporter.ts";
import { unreliableDatabase } from "../../test-support/index.ts";
import { context, it } from "../../test-support/pipeline-test.ts";

const usage = async () => (await env.DB.prepare("SELECT * FROM row_usage ORDER BY worker").all()).results;
const write = (name: string) => query(context.db, sql`INSERT INTO alerts (name, since) VALUES (${name}, 0)`);

it("adds an isolate's rows to those of its Worker, at most once a minute", async () => {
  const reporter = new RowReporter("consumer");
  takeRows();
  await write("a");
  await reporter.report(context);
  expect(await usage()).toEqual([]);
  context.clock.now += 59_999;
  await write("b");
  await query(context.db, sql`SELECT * FROM alerts`);
  await reporter.report(context);
  expect(await usage()).toEqual([]);
  context.clock.now += 1;
  await reporter.report(context);
  expect(await usage()).toEqual([{ worker: "consumer", rows_read: 2, rows_written: 2 }]);
  await write("c");
  await reporter.report(context);
  expect(await usage()).toHaveLength(1);
  context.clock.now += 60_000;
  await reporter.report(context);
  // The row that the report itself writes counts in the next one.
  expect(await usage()).toEqual([{ worker: "consumer", rows_read: expect.any(Number), rows_written: 4 }]);
});

it("logs counts that D1 refuses, and continues", async () => {
  const reporter = new RowReporter("poller", 0);
  takeRows();
  await write("d");
  const { d1 } = unreliableDatabase(env.DB, () => "before", "D1_ERROR: a permanent error");
  await reporter.report({ ...context, db: openDatabase(d1) });
  expect(context.events).toMatchObject([{ event: "rows_not_reported", read: 0, written: 1, code: "D1_ERROR" }]);
  await reporter.report(context);
  expect(context.events).toHaveLength(1);
});
