import { existsSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { deployEnvironment } from "../src/deploy-environment.ts";
import { destroyEnvironment } from "../src/destroy-environment.ts";
import { Harness } from "./harness.ts";

const used: Harness[] = [];
afterEach(() => {
  for (const one of used.splice(0)) one.remove();
});

async function deployed(...environments: readonly string[]): Promise<Harness> {
  const made = new Harness();
  used.push(made);
  for (const environment of environments) {
    expect((await deployEnvironment({ environment, dryRun: false, yes: true }, made.io)).ok).toBe(true);
  }
  made.account.calls.length = 0;
  return made;
}

const destroy = (on: Harness, environment = "staging", yes = true) => destroyEnvironment({ environment, yes }, on.io);

describe("destroying an environment", () => {
  it("deletes what deploying created, in the reverse order", async () => {
    const staging = await deployed("staging");
    expect(await destroy(staging)).toEqual({ ok: true, value: null });
    expect(staging.state).toEqual(new Harness().state);
    expect(staging.changes.map((line) => line.replace(/ --(id|force|skip).*/, ""))).toEqual([
      "queues subscription delete sluice-events-staging",
      "delete --name sluice-producer-staging",
      "queues consumer remove sluice-events-staging sluice-poller-staging",
      "delete --name sluice-poller-staging",
      "queues consumer remove sluice-interactive-dead-staging sluice-consumer-staging",
      "queues consumer remove sluice-bulk-dead-staging sluice-consumer-staging",
      "queues consumer remove sluice-interactive-staging sluice-consumer-staging",
      "queues consumer remove sluice-bulk-staging sluice-consumer-staging",
      "delete --name sluice-consumer-staging",
      "queues delete sluice-events-staging",
      "queues delete sluice-bulk-staging",
      "queues delete sluice-interactive-staging",
      "queues delete sluice-bulk-dead-staging",
      "queues delete sluice-interactive-dead-staging",
      "d1 delete sluice-staging",
    ]);
    expect(existsSync(`${staging.folder}/staging`)).toBe(false);
  });

  it("leaves production as it was", async () => {
    const both = await deployed("production");
    const production = both.state;
    await deployEnvironment({ environment: "staging", dryRun: false, yes: true }, both.io);
    expect((await destroy(both)).ok).toBe(true);
    expect(both.state).toEqual(production);
  });

  it("does nothing if nothing is there", async () => {
    const none = await deployed();
    expect((await destroy(none)).ok).toBe(true);
    expect(none.output).toContain("The account has nothing of staging");
    expect(none.changes).toEqual([]);
  });

  it.each(["before", "after"] as const)(
    "is completed by a second run if a call fails %s it took effect, at every call",
    { timeout: 120_000 },
    async (when) => {
      const clean = await deployed("staging");
      await destroy(clean);
      for (const [call, args] of clean.account.calls.entries()) {
        const broken = await deployed("staging");
        broken.account.failAt = { call, when };
        const first = await destroy(broken);
        broken.account.failAt = null;
        const line = args.join(" ");
        expect({ line, ok: first.ok }).toEqual({ line, ok: false });
        expect({ line, second: await destroy(broken) }).toEqual({ line, second: { ok: true, value: null } });
        expect({ line, state: broken.state }).toEqual({ line, state: clean.state });
      }
    },
  );
});

describe("before deleting", () => {
  it.each([
    ["staging", "staging", true],
    ["yes", "staging", false],
    ["staging", "production", false],
    [null, "staging", false],
    ["production", "production", true],
  ])("the answer %j deletes %s: %s", async (answer, environment, deletes) => {
    const asked = await deployed(environment);
    asked.answer = answer;
    expect((await destroy(asked, environment, false)).ok).toBe(deletes);
    expect(asked.questions).toHaveLength(1);
    expect(asked.changes.length > 0).toBe(deletes);
  });

  it("asks for production even with --yes", async () => {
    const asked = await deployed("production");
    expect(await destroy(asked, "production", true)).toMatchObject({
      error: expect.stringContaining("typing its name"),
    });
    expect(asked.questions).toHaveLength(1);
    expect(asked.changes).toEqual([]);
  });

  it("refuses if another Worker consumes a queue", async () => {
    const foreign = await deployed("staging");
    Object.assign(foreign.account.queues["sluice-bulk-staging"] ?? {}, { consumer: "theirs" });
    expect(await destroy(foreign)).toMatchObject({ error: expect.stringContaining("theirs") });
    expect(foreign.changes).toEqual([]);
  });
});
