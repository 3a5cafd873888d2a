import { afterEach, describe, expect, it } from "vitest";
import { deployEnvironment } from "../src/deploy-environment.ts";
import { FREE_PLAN } from "../src/failures.ts";
import type { Io } from "../src/io.ts";
import type { FakeAccount } from "./fake/account.ts";
import { Harness } from "./harness.ts";

const used: Harness[] = [];
const harness = (changes: Partial<FakeAccount> = {}) => {
  const made = new Harness(changes);
  used.push(made);
  return made;
};
afterEach(() => {
  for (const one of used.splice(0)) one.remove();
});

const options = { environment: "production", dryRun: false, yes: true };
const deploy = (on: Harness, how = options) => deployEnvironment(how, on.io);

describe("before anything changes", () => {
  it("asks, and runs nothing unless the answer is yes", async () => {
    const asked = harness();
    asked.answer = "y";
    expect(await deploy(asked, { ...options, yes: false })).toEqual({ ok: false, error: "Nothing was run." });
    expect(asked.changes).toEqual([]);
    asked.answer = "yes";
    expect((await deploy(asked, { ...options, yes: false })).ok).toBe(true);
  });

  it("refuses without a terminal to ask on", async () => {
    const asked = harness();
    expect(await deploy(asked, { ...options, yes: false })).toMatchObject({ error: expect.stringContaining("--yes") });
    expect(asked.changes).toEqual([]);
  });

  it.each<[string, Partial<FakeAccount>, string]>([
    ["nobody is logged in", { loggedIn: false }, "wrangler login"],
    [
      "the login has two accounts",
      {
        accounts: [
          { id: "a1", name: "A" },
          { id: "b2", name: "B" },
        ],
      },
      "CLOUDFLARE_ACCOUNT_ID",
    ],
    [
      "another Worker consumes a queue",
      { queues: { "sluice-bulk": { retention: 60, consumer: "theirs", deadLetters: null } } },
      "sluice-bulk: theirs",
    ],
  ])("refuses if %s", async (_, changes, words) => {
    const refused = harness(changes);
    expect(await deploy(refused)).toMatchObject({ ok: false, error: expect.stringContaining(words) });
    expect(refused.changes).toEqual([]);
  });

  it("accepts a login with two accounts if one is chosen", async () => {
    const chosen = harness({
      accounts: [
        { id: "a1", name: "A" },
        { id: "b2", name: "B" },
      ],
    });
    chosen.accountId = "a1";
    expect((await deploy(chosen)).ok).toBe(true);
  });
});

describe("the free plan", () => {
  it("is refused with the reason before anything exists", async () => {
    const free = harness({ plan: "free" });
    expect(await deploy(free)).toMatchObject({ ok: false, error: expect.stringContaining(FREE_PLAN) });
    expect(FREE_PLAN).toMatch(/50 D1 queries and 10 ms/);
    expect(free.state).toEqual(harness({ plan: "free" }).state);
  });

  it("is refused if its queues were created by hand", async () => {
    const queues = { "sluice-interactive-dead": { retention: 86_400, consumer: null, deadLetters: null } };
    const free = harness({ plan: "free", queues });
    expect(await deploy(free)).toMatchObject({ ok: false, error: expect.stringContaining(FREE_PLAN) });
    expect(free.account.workers).toEqual({});
  });
});

describe("a Worker that is not reachable or not attached", () => {
  it.each([
    [["Producer for q", "api.example.com/* (zone name: example.com)"], "https://api.example.com"],
    [["https://p.acme.workers.dev", "api.example.com (custom domain)"], "https://p.acme.workers.dev"],
    [["Producer for sluice-bulk"], "URL"],
  ])("with the targets %j is reached at %s", async (targets, url) => {
    const routed = harness();
    const io: Io = {
      ...routed.io,
      wrangler: async (args) => {
        const run = await routed.wrangler(args);
        return run.ok && args[0] === "deploy" ? { ok: true, value: { ...run.value, targets } } : run;
      },
    };
    expect((await deployEnvironment(options, io)).ok).toBe(true);
    expect(routed.output).toContain(`smoke --url ${url} --key`);
  });

  it("explains a missing workers.dev subdomain, and the next run prints the key", async () => {
    const without = harness({ subdomain: null });
    expect(await deploy(without)).toMatchObject({ ok: false, error: expect.stringContaining("workers.dev subdomain") });
    Object.assign(without.account, { subdomain: "acme" });
    expect((await deploy(without)).ok).toBe(true);
    expect(without.output.match(/^ {2}sluice_\S+$/gm)).toHaveLength(1);
  });

  it("fails if a queue has no consumer after the deployment", async () => {
    const lost = harness();
    const { wrangler } = lost;
    const io = {
      ...lost.io,
      wrangler: async (args: readonly string[]) => {
        const run = await wrangler(args);
        if (args[0] === "deploy") Object.assign(lost.account.queues["sluice-bulk"] ?? {}, { consumer: null });
        return run;
      },
    };
    expect(await deployEnvironment(options, io)).toMatchObject({
      ok: false,
      error: expect.stringContaining("nothing consumes sluice-bulk."),
    });
    expect((await deploy(lost)).ok).toBe(true);
  });
});
