import { env } from "cloudflare:test";
import { claimAtStart } from "@sluice/pipeline/job/sql/claim-due-jobs.ts";
import { pauseDispatching } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { recordDatabaseSize } from "@sluice/pipeline/platform/sql/database-size.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { claimLimits, MODEL } from "@sluice/pipeline/test-support/fixtures.ts";
import { NOW, testApi } from "./api.ts";
import { ask, at, db, post, refused } from "./stored.ts";

const MINUTE = 60_000;
const READY = { status: "ok", database: null };
const poller = async (now: number) => (await claimAtStart(db(), claimLimits(now), now, now - MINUTE)).jobs;

describe("/readyz", () => {
  const open = { headers: { authorization: "" } };

  it("needs no key, and is 503 until the poller has run", async () => {
    const { response, problem } = await refused("/readyz", open);
    expect([response.status, problem.type, problem.detail]).toEqual([
      503,
      "/problems/unavailable",
      "The poller has never run.",
    ]);
    await poller(NOW);
    expect(await ask("/readyz", open)).toEqual(READY);
  });

  it.each([
    ["TABLE", "pauses"],
    ["TABLE", "heartbeats"],
    ["TABLE", "staged_parts"],
    ["VIEW", "best"],
  ])("is 503 with the reason if the database lacks the %s %s", async (kind, name) => {
    await poller(NOW);
    await env.DB.prepare(`DROP ${kind} ${name}`).run();
    const { response, problem } = await refused("/readyz", open);
    expect([response.status, problem.type, problem.detail]).toEqual([
      503,
      "/problems/unavailable",
      `The database lacks ${name}. Apply the migrations: wrangler d1 migrations apply.`,
    ]);
  });

  it("is 503 if the poller has not run for five minutes", async () => {
    await poller(NOW - 5 * MINUTE);
    expect(await ask("/readyz", open)).toEqual(READY);
    const later = await testApi({ now: () => NOW + 1 });
    expect((await refused("/readyz", open, later)).problem.detail).toBe("The poller has not run for 5 minutes.");
  });

  it("is 503 if a fault of the account stops a model, but not for the daily limit or a request", async () => {
    await poller(NOW);
    const pause = { scope: `model:${MODEL}`, message: "10000: Authentication error", since: NOW, until: NOW + MINUTE };
    await pauseDispatching(db(), { ...pause, reason: "daily_limit" });
    await ask("/v1/pause", post());
    expect(await ask("/readyz", open)).toEqual(READY);
    await pauseDispatching(db(), { ...pause, reason: "configuration" });
    const { problem } = await refused("/readyz", open);
    expect(problem.detail).toContain(`${MODEL} is stopped: Workers AI refuses the account or the model.`);
    // What the service said is for those with a key.
    expect(JSON.stringify(problem)).not.toContain("10000");
  });

  describe("with a database above 70 % of its limit", () => {
    const record = (bytes: number, at = NOW) => recordDatabaseSize(db(), { bytes, limit: 1_000 }, at);
    const passes = (startedAt: number, endedAt = startedAt + 1) =>
      env.DB.batch(
        ["texts", "history", "failed_texts", "jobs"].map((task) =>
          env.DB.prepare("INSERT OR REPLACE INTO retention_progress VALUES (?, '1', ?, ?, 0)").bind(
            task,
            startedAt,
            endedAt,
          ),
        ),
      );
    beforeEach(() => poller(NOW));

    it("names the level, and is 503 only if it is full", async () => {
      const size = { limit_bytes: 1_000, since: at(NOW) };
      await record(700);
      expect(await ask("/readyz", open)).toEqual({ ...READY, database: { ...size, level: "high", bytes: 700 } });
      await record(850);
      expect(await ask("/readyz", open)).toEqual({ ...READY, database: { ...size, level: "pressure", bytes: 850 } });
      await record(960);
      const { response, problem } = await refused("/readyz", open);
      expect([response.status, problem.detail]).toEqual([
        503,
        "The database is full: 96 % of MAX_DATABASE_BYTES. New pushes are refused until it is below 90 %.",
      ]);
      await record(899);
      expect(await ask("/readyz", open)).toMatchObject({ database: { level: "pressure" } });
    });

    it("says that it stays full once retention has nothing left to delete", async () => {
      await record(960);
      const detail = async () => (await refused("/readyz", open)).problem.detail;
      // A pass that began before the database was full spared what is young; an unfinished one may delete more.
      await passes(NOW - 1);
      expect(await detail()).not.toContain("resolve itself");
      await passes(NOW + 1, NOW);
      expect(await detail()).not.toContain("resolve itself");
      await passes(NOW + 1);
      expect(await detail()).toContain(
        "does not resolve itself: only scores that are kept remain. Set or lower RETAIN_SCORES_DAYS",
      );
    });
  });
});
