import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { beforeEach, describe, expect } from "vitest";
import { pauseDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { quarantineMessage } from "../../src/message/sql/quarantine-message.ts";
import { raiseAlerts } from "../../src/platform/raise-alerts.ts";
import { sweepSubmissions } from "../../src/submission/sql/sweep-submissions.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { runPoller } from "../../test-support/drive.ts";
import { dispatch, jobId, MODEL, NOW, open, part, record } from "../../test-support/fixtures.ts";
import { impatient, testContext, unreliableDatabase } from "../../test-support/index.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const STUCK = HOUR;
const iso = (time: number) => new Date(time).toISOString();
const raised = async () => (await env.DB.prepare("SELECT * FROM alerts ORDER BY name").all()).results;
const lines = () => context.events.filter(({ event }) => event.startsWith("alert"));

beforeEach(async () => {
  for (const table of ["alerts", "pauses", "malformed_messages", "submissions", "watched_submissions", "jobs"])
    await env.DB.exec(`DELETE FROM ${table}`);
  await env.DB.exec("DELETE FROM database_size; DELETE FROM heartbeats; DELETE FROM sweeps");
});

const quarantine = () => quarantineMessage(context.db, { queue: "q", id: "m", reason: "r", body: "b" }, NOW);
const release = () => env.DB.exec("DELETE FROM malformed_messages");

async function recordedJob(now = NOW) {
  const submission = await open(context.db, { total: 1 }, now);
  const id = jobId(now);
  await record(context.db, id, [[part(submission, 0, [{}])]], now);
  return id;
}

describe("alerts", () => {
  it("are logged once when something begins, and once when it ends", async () => {
    await raiseAlerts(context, STUCK);
    await quarantine();
    for (let runs = 0; runs < 3; runs += 1) await raiseAlerts(context, STUCK);
    const alert = { alert: "messages_quarantined", subject: null, since: iso(NOW) };
    expect(context.events).toEqual([{ event: "alert", level: "error", ...alert, messages: 1 }]);
    expect(await raised()).toEqual([{ name: "messages_quarantined", since: NOW }]);
    await release();
    context.clock.now += 25 * MINUTE;
    for (let runs = 0; runs < 3; runs += 1) await raiseAlerts(context, STUCK);
    expect(context.events.slice(1)).toEqual([{ event: "alert_ended", ...alert, minutes: 25 }]);
    expect(await raised()).toEqual([]);
  });

  it("of runs that overlap are logged by one of them", async () => {
    await quarantine();
    await Promise.all(Array.from({ length: 4 }, () => raiseAlerts(context, STUCK)));
    expect(lines().map(({ event }) => event)).toEqual(["alert"]);
    await release();
    await Promise.all(Array.from({ length: 4 }, () => raiseAlerts(context, STUCK)));
    expect(lines().map(({ event }) => event)).toEqual(["alert", "alert_ended"]);
  });

  it("are logged even if D1 loses the answer to the write", async () => {
    await quarantine();
    // The second call is the write.
    const { d1 } = unreliableDatabase(env.DB, (call) => (call === 2 ? "after" : null));
    const once = () => ({ ...context, db: openDatabase(d1, { ...impatient, tries: 2 }) });
    await raiseAlerts(once(), STUCK);
    await raiseAlerts(context, STUCK);
    expect(lines().map(({ event }) => event)).toEqual(["alert"]);
    await release();
    const { d1: later } = unreliableDatabase(env.DB, (call) => (call === 2 ? "after" : null));
    await raiseAlerts({ ...context, db: openDatabase(later, { ...impatient, tries: 2 }) }, STUCK);
    await raiseAlerts(context, STUCK);
    expect(lines().map(({ event }) => event)).toEqual(["alert", "alert_ended"]);
  });

  it("name a model that a fault pauses, even between two tries, and no other pause", async () => {
    const pause = { scope: `model:${MODEL}`, message: "m", since: NOW - HOUR, until: NOW - 1 } as const;
    await pauseDispatching(context.db, { ...pause, scope: "all", reason: "requested" });
    await pauseDispatching(context.db, { ...pause, scope: "model:other", reason: "daily_limit" });
    await raiseAlerts(context, STUCK);
    expect(lines()).toEqual([]);
    await pauseDispatching(context.db, { ...pause, reason: "configuration" });
    await raiseAlerts(context, STUCK);
    expect(lines()).toEqual([
      { event: "alert", level: "error", alert: "model_paused", subject: MODEL, since: iso(NOW - HOUR) },
    ]);
  });

  it("report stalled submissions that the sweep watches", async () => {
    await open(context.db, { total: 7 }, NOW - 20 * MINUTE);
    await open(context.db, { total: 7, closed: false }, NOW - 20 * MINUTE);
    await sweepSubmissions(context.db, { now: NOW, settledBy: NOW, abandonedBefore: 0, lostBefore: 0 });
    await raiseAlerts(context, STUCK);
    const since = iso(NOW - 20 * MINUTE);
    expect(lines()).toMatchObject([{ alert: "submissions_stalled", since, submissions: 1, documents: 7 }]);
  });

  it("report a database that has been full for an hour", async () => {
    await env.DB.exec(`INSERT INTO database_size VALUES (1, 97, 'full', ${NOW - HOUR + 1}, ${NOW}, 100)`);
    await raiseAlerts(context, STUCK);
    expect(lines()).toEqual([]);
    context.clock.now += 1;
    await raiseAlerts(context, STUCK);
    const figures = { bytes: 97, limit_bytes: 100, since: iso(NOW - HOUR + 1) };
    expect(lines()).toMatchObject([
      { alert: "database_pressure", ...figures },
      { alert: "database_full", ...figures },
    ]);
  });

  it("report a job that waits three times as long as a stuck one", async () => {
    await dispatch(context.db, await recordedJob(NOW - 4 * HOUR), NOW - 3 * HOUR);
    await raiseAlerts(context, STUCK);
    expect(lines()).toEqual([]);
    context.clock.now += 1;
    await raiseAlerts(context, STUCK);
    expect(lines()).toMatchObject([{ alert: "jobs_stuck", since: iso(NOW - 3 * HOUR), jobs: 1 }]);
  });

  it("report a job three of whose dispatches brought no answer, unless a pause holds it", async () => {
    await recordedJob(NOW - HOUR);
    await env.DB.exec(
      "UPDATE jobs SET repeated_dispatches = 2, unconfirmed_dispatches = 1, paused_by = 'all', due_at = 8640000000000000",
    );
    await raiseAlerts(context, STUCK);
    expect(lines()).toEqual([]);
    await env.DB.exec("UPDATE jobs SET paused_by = NULL, due_at = 1");
    await raiseAlerts(context, STUCK);
    expect(lines()).toMatchObject([{ alert: "jobs_stuck", since: iso(NOW - HOUR), jobs: 1 }]);
  });

  it("report a job that ended without an answer for an hour", async () => {
    await recordedJob(NOW - HOUR);
    const end = `status = 'failed', due_at = NULL, ended_at = ${NOW - HOUR}, finalized_sequence = 1`;
    await env.DB.exec(`UPDATE jobs SET ${end}, batches = 9`);
    await raiseAlerts(context, STUCK);
    expect(lines()).toEqual([]);
    await env.DB.exec("UPDATE jobs SET batches = 10");
    await raiseAlerts(context, STUCK);
    context.clock.now += 1;
    await raiseAlerts(context, STUCK);
    expect(lines()).toMatchObject([
      { alert: "jobs_stuck", jobs: 1 },
      { event: "alert_ended", alert: "jobs_stuck" },
    ]);
  });

  it("take one D1 call if nothing changed, and read a bounded number of rows", async () => {
    const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)";
    await env.DB.batch(
      [
        `${numbers} INSERT INTO jobs (id, model, lane, status, round, document_count, context_count, payload_bytes,
           due_at, created_at, ended_at, finalized_sequence, members)
         SELECT 'job_' || i, 'm', iif(i % 4 < 2, 'bulk', 'interactive'), iif(i % 2, 'pending', 'succeeded'), 1, 1, 1, 1,
           iif(i % 2, i, NULL), 1, iif(i % 2, NULL, 1), iif(i % 2, NULL, i), '[]' FROM n`,
        `${numbers} INSERT INTO watched_submissions SELECT 'sub_' || i FROM n`,
        `${numbers} INSERT INTO malformed_messages SELECT 'q', i, 'r', 1, 'b' FROM n`,
        "INSERT INTO alerts VALUES ('messages_quarantined', 1)",
      ].map((statement) => env.DB.prepare(statement)),
    );
    const { d1, counts } = countedDatabase(env.DB);
    await raiseAlerts(testContext(d1, service), STUCK);
    expect(counts).toHaveLength(6);
    expect(counts.reduce((sum, { written }) => sum + written, 0)).toBe(0);
    expect(counts.reduce((sum, { read }) => sum + read, 0)).toBeLessThan(1_000);
  });
});

describe("a run of the poller", () => {
  it("reports that none ran for more than five minutes, and the next sweep ends it", async () => {
    await runPoller(context);
    context.clock.now += 5 * MINUTE;
    await runPoller(context);
    expect(lines()).toEqual([]);
    const since = iso(context.clock.now);
    // Between two sweeps.
    context.clock.now += 16 * MINUTE;
    await Promise.all([runPoller(context), runPoller(context)]);
    expect(lines()).toEqual([{ event: "alert", level: "error", alert: "poller_silent", subject: null, since }]);
    for (let runs = 0; runs < 6; runs += 1) {
      context.clock.now += MINUTE;
      await runPoller(context);
    }
    expect(lines().slice(1)).toEqual([
      { event: "alert_ended", alert: "poller_silent", subject: null, since, minutes: 17 },
    ]);
  });

  it("raises alerts even if the maintenance after them fails", async () => {
    await quarantine();
    await env.DB.exec("ALTER TABLE sweeps RENAME TO sweeps_away");
    context.clock.now = Math.ceil(NOW / (5 * MINUTE)) * 5 * MINUTE;
    await expect(runPoller(context)).rejects.toThrow();
    await env.DB.exec("ALTER TABLE sweeps_away RENAME TO sweeps");
    expect(lines()).toMatchObject([{ alert: "messages_quarantined" }]);
  });
});
