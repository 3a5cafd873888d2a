import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "@sluice/local/configuration";
import { afterEach, describe, expect, it } from "vitest";
import { deployEnvironment } from "../src/deploy-environment.ts";
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

const KEY = `sluice_${Buffer.alloc(24, 7).toString("base64url")}`;
const options = { environment: "production", dryRun: false, yes: true };
const staging = { ...options, environment: "staging" };
const deploy = (on: Harness, how = options) => deployEnvironment(how, on.io);
const migrations = readdirSync(join(ROOT, "migrations")).filter((file) => file.endsWith(".sql"));
const count = (text: string, part: string) => text.split(part).length - 1;

/** One clean run on an empty account. */
async function deployed(how = options): Promise<Harness> {
  const clean = harness();
  expect(await deploy(clean, how)).toEqual({ ok: true, value: null });
  return clean;
}

describe("a deployment to an empty account", () => {
  it("creates queues, database, migrations, Workers and the subscription in this order", async () => {
    const { changes, account } = await deployed();
    expect(changes.map((line) => line.replace(/ -.*/, ""))).toEqual([
      "queues create sluice-interactive-dead",
      "queues create sluice-bulk-dead",
      "queues create sluice-interactive",
      "queues create sluice-bulk",
      "queues create sluice-events",
      "d1 create sluice",
      "d1 migrations apply sluice",
      "deploy",
      "deploy",
      "deploy",
      "queues subscription create sluice-events",
    ]);
    expect(Object.keys(account.workers)).toEqual(["sluice-consumer", "sluice-poller", "sluice-producer"]);
    expect(account.databases["sluice"]?.migrations).toEqual(migrations);
    expect(account.queues["sluice-bulk"]).toEqual({
      consumer: "sluice-consumer",
      deadLetters: "sluice-bulk-dead",
      retention: 345_600,
    });
    expect(account.queues["sluice-events"]?.consumer).toBe("sluice-poller");
    expect(account.subscriptions).toEqual({
      "sluice-bge-m3": {
        queue: "sluice-events",
        model: "@cf/baai/bge-m3",
        events: ["batch.succeeded", "batch.failed"],
        enabled: true,
      },
    });
  });

  it("prints the URL, the key once, and the line that verifies it", async () => {
    const { output, account, folder } = await deployed();
    expect(output).toContain("Deployed production: https://sluice-producer.acme.workers.dev");
    expect(count(output, `  ${KEY}\n`)).toBe(1);
    expect(output).toContain(`smoke --url https://sluice-producer.acme.workers.dev --key ${KEY}`);
    expect(JSON.parse(account.workers["sluice-producer"]?.secrets["SLUICE_API_KEYS"] ?? "")).toEqual([
      { name: "first", sha256: hash("sha256", KEY), scopes: ["ingest", "read", "admin"] },
    ]);
    // Neither the key nor its hash stays on the disk.
    expect(readdirSync(join(folder, "production")).toSorted()).toEqual(["consumer", "poller", "producer"]);
  });

  it("prints every command of the plan before it runs any", async () => {
    const { printed, changes } = await deployed();
    const plan = printed.find((text) => text.includes("To deploy production")) ?? "";
    for (const line of changes) expect(plan).toContain(line);
  });

  it("writes no tracked file: production binds Workers AI, and no stand-in", async () => {
    const { folder, account } = await deployed();
    for (const worker of ["consumer", "poller"]) {
      const text = readFileSync(join(folder, "production", worker, "wrangler.json"), "utf8");
      expect(JSON.parse(text)).toMatchObject({ name: `sluice-${worker}`, ai: { binding: "AI" } });
      expect(text).not.toMatch(/local-ai|WorkersAI|00000000-/);
    }
    expect(readFileSync(join(folder, "production", "producer", "wrangler.json"), "utf8")).not.toMatch(/"ai"|00000000-/);
    expect(account.workers["sluice-consumer"]?.ai).toBe(true);
    expect(account.workers["sluice-poller"]).toMatchObject({ ai: true, crons: ["* * * * *"] });
  });
});

describe("a second run", () => {
  it("changes nothing in the account, keeps the keys and prints none", async () => {
    const clean = await deployed();
    const before = clean.state;
    clean.printed.length = 0;
    expect((await deploy(clean)).ok).toBe(true);
    expect(clean.state).toEqual(before);
    expect(clean.output).toContain("sluice-producer keeps its API keys");
    expect(clean.output).toContain("--key KEY");
    expect(clean.output).not.toContain(KEY);
  });

  it("raises the retention of a queue that someone created with less", async () => {
    const clean = await deployed();
    const before = clean.state;
    Object.assign(clean.account.queues["sluice-bulk"] ?? {}, { retention: 60 });
    expect((await deploy(clean)).ok).toBe(true);
    expect(clean.state).toEqual(before);
  });

  it("repairs a subscription that is disabled or lacks an event", async () => {
    const clean = await deployed();
    const before = clean.state;
    Object.assign(clean.account.subscriptions["sluice-bge-m3"] ?? {}, { enabled: false, events: ["batch.failed"] });
    expect((await deploy(clean)).ok).toBe(true);
    expect(clean.state).toEqual(before);
  });
});

describe.each(["before", "after"] as const)("a run whose call fails %s it took effect", (when) => {
  it("is completed by a second run, at every call, with the same key", { timeout: 120_000 }, async () => {
    const clean = await deployed();
    const calls = clean.account.calls.length;
    expect(calls).toBeGreaterThan(20);
    for (let call = 0; call < calls; call += 1) {
      const broken = harness({ failAt: { call, when } });
      const first = await deploy(broken);
      broken.account.failAt = null;
      const line = clean.account.calls[call]?.join(" ") ?? "";
      // Only the subscription is optional.
      expect({ line, ok: first.ok }).toEqual({ line, ok: line.startsWith("queues subscription") });
      if (!first.ok) expect(first.error).toContain("could not be reached");
      expect({ line, second: await deploy(broken) }).toEqual({ line, second: { ok: true, value: null } });
      expect({ line, state: broken.state }).toEqual({ line, state: clean.state });
      expect({ line, keys: count(broken.output, `  ${KEY}\n`) }).toEqual({ line, keys: 1 });
      expect(existsSync(join(broken.folder, "production", "api-key"))).toBe(false);
    }
  });
});

describe("environments", () => {
  it("share no name", async () => {
    const both = await deployed();
    const production = both.state;
    expect((await deploy(both, staging)).ok).toBe(true);
    for (const [kind, names] of Object.entries(production)) {
      if (typeof names !== "object" || names === null) continue;
      expect((both.state as Record<string, object>)[kind]).toMatchObject(names);
    }
    for (const kind of ["queues", "workers", "databases"] as const) {
      const names = Object.keys(both.account[kind]);
      const [own, others] = [
        names.filter((name) => name.endsWith("-staging")),
        Object.keys((production as FakeAccount)[kind]),
      ];
      expect(own.toSorted()).toEqual(others.map((name) => `${name}-staging`).toSorted());
    }
    expect(both.account.queues["sluice-bulk-staging"]).toMatchObject({
      consumer: "sluice-consumer-staging",
      deadLetters: "sluice-bulk-dead-staging",
    });
    expect(both.account.workers["sluice-producer-staging"]).toMatchObject({
      database: both.account.databases["sluice-staging"]?.uuid,
      writes: ["sluice-interactive-staging", "sluice-bulk-staging"],
    });
  });

  it("do without events if another has the account's subscription", async () => {
    const both = await deployed();
    expect(await deploy(both, staging)).toEqual({ ok: true, value: null });
    expect(both.output).toContain("scores arrive with the poller's next run");
    expect(Object.keys(both.account.subscriptions)).toEqual(["sluice-bge-m3"]);
  });
});

describe("a dry run", () => {
  it("prints the plan, builds the Workers, and asks and changes nothing", async () => {
    const dry = harness({ loggedIn: true });
    expect(await deploy(dry, { ...staging, dryRun: true, yes: false })).toEqual({ ok: true, value: null });
    expect(dry.output).toContain("wrangler queues create sluice-bulk-staging --message-retention-period-secs 345600");
    expect(dry.account.calls.map((args) => args.slice(0, 2).join(" "))).toEqual(Array(3).fill("deploy --dry-run"));
    expect(dry.state).toEqual(harness().state);
    expect(dry.questions).toEqual([]);
    expect(readdirSync(dry.folder)).toEqual([]);
  });
});
