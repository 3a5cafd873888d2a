import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { claimAtStart } from "@sluice/pipeline/job/sql/claim-due-jobs.ts";
import { pauseDispatching } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { quarantineMessage } from "@sluice/pipeline/message/sql/quarantine-message.ts";
import { rollUpTotals } from "@sluice/pipeline/submission/sql/roll-up-totals.ts";
import { sweepSubmissions } from "@sluice/pipeline/submission/sql/sweep-submissions.ts";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { claimLimits, dispatch, MODEL, open } from "@sluice/pipeline/test-support/fixtures.ts";
import { expect, it } from "vitest";
import type { ApiContext } from "../src/context.ts";
import { NOW, testApi } from "./api.ts";
import { parseOpenMetrics } from "./open-metrics.ts";
import { db, failed, ids, limited, recorded, refused, scored } from "./stored.ts";

const MINUTE = 60_000;

async function metrics(more: Partial<ApiContext> = {}) {
  const response = await (await testApi(more)).fetch("/metrics");
  // `text()` warns about a type that it does not know.
  const text = new TextDecoder().decode(await response.arrayBuffer());
  expect(response.status, text).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
  return parseOpenMetrics(text);
}
const valuesIn = async (more: Partial<ApiContext> = {}) =>
  Object.fromEntries([...(await metrics(more))].map(([name, { values }]) => [name, values]));

it("metrics of an empty database are zero, or absent if nothing is known", async () => {
  const all = await valuesIn();
  expect(all["sluice_documents"]).toEqual(
    Object.fromEntries(
      ["interactive", "bulk"].flatMap((lane) =>
        ["queued", "processing", "succeeded", "failed", "canceled"].map((one) => [`lane=${lane},status=${one}`, 0]),
      ),
    ),
  );
  const zeros = ["ended_jobs", "tokens", "unconfirmed_dispatches", "repeated_dispatches", "stalled_submissions"];
  for (const name of [...zeros, "stalled_documents", "quarantined_messages"])
    expect([name, all[`sluice_${name}`]]).toEqual([name, { "": 0 }]);
  expect(all["sluice_open_jobs"]).toEqual({ "status=pending": 0, "status=dispatching": 0, "status=dispatched": 0 });
  for (const name of ["poller_age_seconds", "database_size_bytes", "database_level", "alert_age_seconds", "pauses"])
    expect([name, all[`sluice_${name}`]]).toEqual([name, {}]);
});

it("metrics show documents, jobs and failures, the same after rolling up", async () => {
  const { job } = await recorded(ids(6, 10), { total: 6 }, NOW - 2 * MINUTE);
  await dispatch(db(), job, NOW - MINUTE);
  await scored(ids(0, 3));
  await failed(ids(3, 5), "model_error");
  await failed(ids(5, 6), "too_large");
  await open(db(), { total: 7, lane: "interactive" }, NOW - 3 * MINUTE);
  const before = await valuesIn();
  expect(before).toMatchObject({
    sluice_documents: {
      "lane=interactive,status=queued": 7,
      "lane=bulk,status=queued": 2,
      "lane=bulk,status=processing": 4,
      "lane=bulk,status=succeeded": 3,
      "lane=bulk,status=failed": 3,
    },
    sluice_oldest_open_submission_age_seconds: { "lane=interactive": 180, "lane=bulk": 120 },
    sluice_failed_documents: { "code=model_error": 2, "code=too_large": 1 },
    sluice_open_jobs: { "status=pending": 0, "status=dispatching": 0, "status=dispatched": 1 },
    sluice_oldest_dispatched_job_age_seconds: { "": 60 },
    sluice_ended_jobs: { "": 3 },
    sluice_tokens: { "": 1_000 },
  });
  await rollUpTotals(db(), NOW + 60 * MINUTE);
  expect(await valuesIn()).toEqual(before);
  await env.DB.prepare("UPDATE submissions SET lost = 6 WHERE lane = 'interactive'").run();
  expect(await valuesIn()).toMatchObject({ sluice_failed_documents: { "code=message_lost": 6 } });
});

it("metrics show what is wrong: pauses, stalled submissions, quarantine, alerts and a silent poller", async () => {
  await env.DB.exec("DELETE FROM submissions");
  await open(db(), { total: 7 }, NOW - 20 * MINUTE);
  await sweepSubmissions(db(), { now: NOW, settledBy: NOW, abandonedBefore: 0, lostBefore: 0 });
  await claimAtStart(db(), claimLimits(NOW), NOW - 10 * MINUTE, NOW);
  const pause = { reason: "configuration", message: null, since: NOW, until: NOW + MINUTE } as const;
  await pauseDispatching(db(), { ...pause, scope: `model:${MODEL}` });
  for (const id of ["a", "b"])
    await pauseDispatching(db(), { ...pause, scope: `submission:${id}`, reason: "requested" });
  await quarantineMessage(db(), { queue: "q", id: "m", reason: "r", body: "b" }, NOW);
  const raised = `model_paused:${MODEL}`;
  await env.DB.prepare("INSERT INTO alerts VALUES (?1, ?2), ('stalled', ?2)")
    .bind(raised, NOW - 90_000)
    .run();
  expect(await valuesIn()).toMatchObject({
    sluice_stalled_submissions: { "": 1 },
    sluice_stalled_documents: { "": 7 },
    sluice_pauses: { [`scope=model:${MODEL},reason=configuration`]: 1, "scope=submission,reason=requested": 2 },
    sluice_poller_age_seconds: { "": 600 },
    sluice_quarantined_messages: { "": 1 },
    sluice_alert_age_seconds: { [`alert=model_paused,subject=${MODEL}`]: 90, "alert=stalled,subject=": 90 },
  });
});

it("metrics show the size of the database, retention and rows", async () => {
  await env.DB.exec(`INSERT INTO database_size VALUES (1, 8600, 'pressure', ${NOW - MINUTE}, ${NOW}, 10000)`);
  await env.DB.exec(
    `INSERT INTO retention_progress VALUES ('texts', NULL, 0, ${NOW - MINUTE}, 12), ('jobs', '[]', 0, NULL, 3)`,
  );
  await env.DB.exec("INSERT INTO row_usage VALUES ('consumer', 20, 4)");
  expect(await valuesIn()).toMatchObject({
    sluice_database_size_bytes: { "": 8_600 },
    sluice_database_limit_bytes: { "": 10_000 },
    sluice_database_level: { "level=normal": 0, "level=high": 0, "level=pressure": 1, "level=full": 0 },
    sluice_database_level_age_seconds: { "": 60 },
    sluice_retention_deleted: { "task=texts": 12, "task=jobs": 3 },
    sluice_retention_pass_age_seconds: { "task=texts": 60 },
    sluice_d1_rows_read: { "worker=consumer": 20 },
    sluice_d1_rows_written: { "worker=consumer": 4 },
  });
});

it("metrics show the queues, and leave out one that does not report", async () => {
  const sendBatch = async () => undefined;
  const report = async () => ({ backlogCount: 5, backlogBytes: 500, oldestMessageTimestamp: new Date(NOW - MINUTE) });
  const broken = async () => Promise.reject(new Error("gone"));
  const queues = { interactive: { sendBatch, metrics: broken }, bulk: { sendBatch, metrics: report } };
  expect(await valuesIn({ queues })).toMatchObject({
    sluice_queue_messages: { "lane=bulk": 5 },
    sluice_queue_bytes: { "lane=bulk": 500 },
    sluice_queue_oldest_message_age_seconds: { "lane=bulk": 60 },
  });
  // The local runtime reports no time for an empty queue.
  const { INTERACTIVE: interactive, BULK: bulk } = env;
  expect(await valuesIn({ queues: { interactive, bulk } })).toMatchObject({
    sluice_queue_messages: { "lane=interactive": 0, "lane=bulk": 0 },
    sluice_queue_oldest_message_age_seconds: {},
  });
});

it("metrics contain no text, id or name of a collection or key", async () => {
  const secret = "secret-0815";
  const document = { id: secret, query: secret, contexts: [secret], metadata: { secret } };
  await failed([document], "model_error", { collection: secret, label: secret });
  await quarantineMessage(db(), { queue: secret, id: secret, reason: secret, body: secret }, NOW);
  const pause = { reason: "requested", message: secret, since: NOW, until: null } as const;
  await pauseDispatching(db(), { ...pause, scope: `submission:${secret}` });
  const response = await (await testApi()).fetch("/metrics");
  const text = new TextDecoder().decode(await response.arrayBuffer());
  expect(text).toContain('scope="submission",reason="requested"');
  expect(text).not.toContain(secret);
});

it("metrics are refused to keys that are limited to collections, and to keys without admin", async () => {
  expect((await refused("/metrics", {}, await limited())).response.status).toBe(403);
  const { keys } = (await testApi()).context;
  const readers = keys.map((key) => ({ ...key, scopes: ["ingest", "read"] as const }));
  expect((await refused("/metrics", {}, await testApi({ keys: readers }))).response.status).toBe(403);
  expect((await refused("/metrics", { headers: { authorization: "" } })).response.status).toBe(401);
});

it("metrics read a bounded number of rows, however many submissions and jobs there are", async () => {
  await env.DB.exec("DELETE FROM folds");
  const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
  const insert = (rows: number, from: number) => [
    env.DB.prepare(
      `${numbers} INSERT INTO submissions (id, collection, model, lane, truncate_inputs, total, created_at, active_at,
         closed_at, completed_at) SELECT 'sub_f' || (i + ?2), 'c', 'm', 'bulk', 1, 0, 1, 1, 1, 1 FROM n`,
    ).bind(rows, from),
    env.DB.prepare(
      `${numbers} INSERT INTO jobs (id, model, lane, status, round, document_count, context_count, payload_bytes, due_at,
         created_at, ended_at, finalized_sequence, members)
       SELECT 'job_f' || (i + ?2), 'm', 'bulk', iif(i % 2, 'pending', 'succeeded'), 1, 1, 1, 1, iif(i % 2, i, NULL), 1,
         iif(i % 2, NULL, 1), iif(i % 2, NULL, 1000 + i + ?2), '[]' FROM n`,
    ).bind(rows, from),
    env.DB.prepare(`${numbers} INSERT INTO malformed_messages SELECT 'q', 'f' || (i + ?2), 'r', 1, 'b' FROM n`).bind(
      rows,
      from,
    ),
  ];
  const rowsRead = async () => {
    const { d1, counts } = countedDatabase(env.DB);
    await metrics({ db: openDatabase(d1) });
    return counts.reduce((sum, { read }) => sum + read, 0);
  };
  await env.DB.batch(insert(60_000, 0));
  const full = await rowsRead();
  // Two statements read 25,000 submissions, one 25,000 ended jobs with their index entries, one 5,000 waiting jobs.
  expect(full).toBeLessThan(112_000);
  await env.DB.batch(insert(20_000, 60_000));
  expect(await rowsRead()).toBe(full);
});
