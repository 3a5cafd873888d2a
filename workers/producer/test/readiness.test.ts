import { env } from "cloudflare:test";
import { claimAtStart } from "@sluice/pipeline/job/sql/claim-due-jobs.ts";
import { pauseDispatching } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { describe, expect, it } from "vitest";
import { claimLimits, MODEL } from "@sluice/pipeline/test-support/fixtures.ts";
import { NOW, testApi } from "./api.ts";
import { ask, db, post, refused } from "./stored.ts";

const MINUTE = 60_000;
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
    expect(await ask("/readyz", open)).toEqual({ status: "ok" });
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
    expect(await ask("/readyz", open)).toEqual({ status: "ok" });
    const later = await testApi({ now: () => NOW + 1 });
    expect((await refused("/readyz", open, later)).problem.detail).toBe("The poller has not run for 5 minutes.");
  });

  it("is 503 if a fault of the account stops a model, but not for the daily limit or a request", async () => {
    await poller(NOW);
    const pause = { scope: `model:${MODEL}`, message: "10000: Authentication error", since: NOW, until: NOW + MINUTE };
    await pauseDispatching(db(), { ...pause, reason: "daily_limit" });
    await ask("/v1/pause", post());
    expect(await ask("/readyz", open)).toEqual({ status: "ok" });
    await pauseDispatching(db(), { ...pause, reason: "configuration" });
    const { problem } = await refused("/readyz", open);
    expect(problem.detail).toContain(`${MODEL} is stopped: Workers AI refuses the account or the model.`);
    // What the service said is for those with a key.
    expect(JSON.stringify(problem)).not.toContain("10000");
  });
});
