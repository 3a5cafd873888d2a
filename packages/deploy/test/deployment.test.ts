import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { describe, expect, it } from "vitest";
import { parseConsumers, parseDatabaseId, parseOutput, parseSubscriptions } from "../src/account.ts";
import {
  deploymentOrder,
  describeDeployment,
  environmentConfiguration,
  parseEnvironment,
  readConfigurations,
} from "../src/deployment.ts";

const sources = readConfigurations();
const production = describeDeployment(sources, "production");

describe("the name of an environment", () => {
  it.each(["production", "staging", "eu-2", "a".repeat(30)])("accepts %s", (name) => {
    expect(parseEnvironment(name)).toEqual({ ok: true, value: name });
  });

  it.each(["", "-a", "a-", "a--b", "A", "2", "a_b", "ä", "a.b", "a/b", "a".repeat(31)])("refuses %j", (name) => {
    expect(parseEnvironment(name).ok).toBe(false);
  });

  it.each(["dead", "dead-x"])("refuses %s, whose queues would be dead-letter queues of another", (name) => {
    expect(parseEnvironment(name).ok).toBe(false);
  });

  it("keeps every name within the 63 characters of a queue", () => {
    const longest = describeDeployment(sources, "a".repeat(30));
    const names = [...longest.queues, ...longest.workers].map(({ name }) => name);
    expect(Math.max(...names.map((name) => name.length))).toBeLessThanOrEqual(63);
  });
});

describe("the configuration of an environment", () => {
  it.each(deploymentOrder)("of %s equals the tracked one but for names, id and paths", (worker) => {
    const { $schema: _, ...source } = sources[worker];
    const made = environmentConfiguration(worker, source, "production", "the-id");
    const { main = "", d1_databases = [], ...rest } = made;
    const { main: _main, d1_databases: databases = [], ...expected } = source;
    expect(rest).toEqual({
      ...expected,
      queues: { producers: [], consumers: [], ...expected.queues },
    });
    expect(d1_databases).toMatchObject([{ binding: "DB", database_name: "sluice", database_id: "the-id" }]);
    expect(d1_databases).toHaveLength(databases.length);
    for (const path of [main, d1_databases[0]?.migrations_dir ?? ""]) {
      expect(isAbsolute(path), path).toBe(true);
      expect(existsSync(path), path).toBe(true);
    }
  });

  it("keeps production's routes to production", () => {
    const routed = { ...sources.producer, routes: ["api.example.com/*"] };
    expect(environmentConfiguration("producer", routed, "production", "id").routes).toEqual(routed.routes);
    expect(environmentConfiguration("producer", routed, "staging", "id")).not.toHaveProperty("routes");
  });

  it("has the suffix in every name", () => {
    for (const worker of deploymentOrder) {
      const { name, queues, d1_databases } = environmentConfiguration(worker, sources[worker], "staging", "id");
      const names = [
        name,
        d1_databases?.[0]?.database_name,
        ...(queues?.producers ?? []).map(({ queue }) => queue),
        ...(queues?.consumers ?? []).flatMap(({ queue, dead_letter_queue }) => [queue, dead_letter_queue ?? queue]),
      ];
      for (const one of names) expect(one).toMatch(/^sluice.*-staging$/);
    }
  });
});

it("a deployment has five queues, each with its consumer, dead-letter queues first", () => {
  expect(production.queues).toEqual([
    { name: "sluice-interactive-dead", consumer: "sluice-consumer" },
    { name: "sluice-bulk-dead", consumer: "sluice-consumer" },
    { name: "sluice-interactive", consumer: "sluice-consumer" },
    { name: "sluice-bulk", consumer: "sluice-consumer" },
    { name: "sluice-events", consumer: "sluice-poller" },
  ]);
});

describe("wrangler's output", () => {
  it("is parsed after warnings, and refused without JSON", () => {
    expect(parseOutput('▲ [WARNING] old\n\n[\n  { "name": "a" }\n]\n')).toEqual({ ok: true, value: [{ name: "a" }] });
    expect(parseOutput("[]")).toEqual({ ok: true, value: [] });
    expect(parseOutput("oops")).toMatchObject({ ok: false, error: expect.stringContaining("oops") });
  });

  it("names a consumer of either kind", () => {
    const list = [{ type: "worker", script: "a" }, { type: "worker", service: "b" }, { type: "http_pull" }];
    expect(parseConsumers(list)).toEqual(["a", "b", "a consumer of type http_pull"]);
  });

  it("finds a database by its exact name", () => {
    const list = [
      { name: "sluice-staging", uuid: "1" },
      { name: "sluice", uuid: "2" },
    ];
    expect(parseDatabaseId(list, "sluice")).toBe("2");
    expect(parseDatabaseId(list, "slu")).toBeNull();
  });

  it("tolerates a subscription without fields", () => {
    expect(parseSubscriptions([{ id: "1" }, {}, null])).toEqual([
      { id: "1", name: "1", enabled: true, model: null, events: [] },
    ]);
  });
});
