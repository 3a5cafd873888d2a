import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { parse } from "jsonc-parser";
import { afterEach, describe, expect, it } from "vitest";
import {
  configurationPath,
  fullKey,
  localConfiguration,
  localConfigurations,
  localWorkers,
  productionWorkers,
  readConfiguration,
  writeLocalConfigurations,
  type Configuration,
  type LocalOptions,
} from "../src/configuration.ts";

const options: LocalOptions = {
  mode: "minilm",
  modelUrl: "http://127.0.0.1:4321",
  tickSeconds: 7,
  retention: { RETAIN_TEXTS_DAYS: "0.5" },
  events: true,
  apiKeys: [fullKey("local", "secret")],
};

describe("the deployed configuration", () => {
  it.each(productionWorkers)("%s never mentions the stand-in", (worker) => {
    const text = readFileSync(configurationPath(worker), "utf8");
    expect(text).not.toMatch(/local-ai|WorkersAI|SLUICE_SCORER/);
    expect(readConfiguration(worker).services).toBeUndefined();
  });

  it.each(["consumer", "poller"] as const)("%s is bound to Workers AI itself", (worker) => {
    expect(readConfiguration(worker).ai).toEqual({ binding: "AI" });
  });

  it("has no rate limit but shows one as a comment, which does not apply locally", () => {
    expect(readConfiguration("producer").ratelimits).toBeUndefined();
    const text = readFileSync(configurationPath("producer"), "utf8");
    const limited = parse(text.replace('// "ratelimits"', '"ratelimits"')) as Configuration;
    expect(limited.ratelimits).toMatchObject([{ name: "RATE_LIMITER", simple: { period: 60 } }]);
    expect(localConfiguration("producer", options, limited)).toEqual(localConfiguration("producer", options));
  });

  it("gives all Workers the same runtime and the same database", () => {
    const [first, ...others] = productionWorkers.map((worker) => {
      const { compatibility_date, compatibility_flags, d1_databases } = readConfiguration(worker);
      return { compatibility_date, compatibility_flags, d1_databases };
    });
    expect(first?.d1_databases).toHaveLength(1);
    for (const other of others) expect(other).toEqual(first);
  });

  it("consumes every queue that is written, dead letters included", () => {
    const written = readConfiguration("producer").queues?.producers?.map(({ queue }) => queue) ?? [];
    const consumers = readConfiguration("consumer").queues?.consumers ?? [];
    const read = consumers.map(({ queue }) => queue);
    expect(written).toEqual(["sluice-interactive", "sluice-bulk"]);
    for (const queue of written) {
      expect(consumers.find((consumer) => consumer.queue === queue)?.dead_letter_queue).toBe(`${queue}-dead`);
    }
    expect(read.toSorted()).toEqual(written.flatMap((queue) => [queue, `${queue}-dead`]).toSorted());
  });

  it("consumes the events queue in the poller, which also writes to it", () => {
    const { queues } = readConfiguration("poller");
    expect(queues?.producers).toEqual([{ binding: "EVENTS", queue: "sluice-events" }]);
    expect(queues?.consumers).toMatchObject([{ queue: "sluice-events", max_batch_size: 100, max_batch_timeout: 1 }]);
    expect(readConfiguration("local-ai").queues).toEqual({ producers: queues?.producers });
  });

  it("runs the poller every minute, and passes the interval to consumer and poller", () => {
    expect(readConfiguration("poller").triggers).toEqual({ crons: ["* * * * *"] });
    for (const worker of ["consumer", "poller"] as const) {
      expect(readConfiguration(worker).vars).toMatchObject({ RUN_INTERVAL_SECONDS: "60" });
    }
  });

  it.each(productionWorkers)("%s keeps the default limits of its plan", (worker) => {
    expect(readConfiguration(worker)).not.toHaveProperty("limits");
  });
});

describe("the local configuration", () => {
  const local = localConfigurations(options);

  it.each(["consumer", "poller"] as const)("%s is bound to the stand-in instead of Workers AI", (worker) => {
    expect(local[worker]).not.toHaveProperty("ai");
    expect(local[worker].services).toEqual([{ binding: "AI", service: "local-ai", entrypoint: "WorkersAI" }]);
  });

  it("equals the deployed one otherwise", () => {
    for (const worker of productionWorkers) {
      const production = readConfiguration(worker);
      expect(local[worker].name).toBe(production.name);
      expect(local[worker].compatibility_date).toBe(production.compatibility_date);
      expect(local[worker].compatibility_flags).toEqual(production.compatibility_flags);
      expect(local[worker].triggers).toEqual(production.triggers);
      expect(local[worker].queues?.producers).toEqual(production.queues?.producers);
      const limits = (configuration: typeof production) =>
        configuration.queues?.consumers?.map(({ queue, max_batch_size, max_retries, dead_letter_queue }) => ({
          queue,
          max_batch_size,
          max_retries,
          dead_letter_queue,
        }));
      expect(limits(local[worker])).toEqual(limits(production));
    }
  });

  it("shares one database, not the deployed one", () => {
    const ids = productionWorkers.flatMap((worker) => local[worker].d1_databases?.map((one) => one.database_id));
    expect(ids).toHaveLength(productionWorkers.length);
    expect(new Set(ids).size).toBe(1);
    expect(ids[0]).not.toBe(readConfiguration("producer").d1_databases?.[0]?.database_id);
  });

  it("sets the variables that each Worker needs", () => {
    const vars = {
      RUN_INTERVAL_SECONDS: "7",
      STUCK_AFTER_MINUTES: "60",
      MAX_DATABASE_BYTES: "9500000000",
      RETAIN_TEXTS_DAYS: "0.5",
      RETAIN_HISTORY_DAYS: "30",
      RETAIN_SCORES_DAYS: "",
    };
    expect(local.poller.vars).toEqual(vars);
    const { poller } = localConfigurations({ ...options, maxDatabaseBytes: 2_000_000 });
    expect(poller.vars).toEqual({ ...vars, MAX_DATABASE_BYTES: "2000000" });
    expect(local.producer.vars).toMatchObject({ SLUICE_SCORER: "minilm" });
    expect(local["local-ai"].vars).toMatchObject({
      MODE: "minilm",
      MODEL_URL: "http://127.0.0.1:4321",
      SEND_EVENTS: "on",
    });
    expect(JSON.parse(String(local.producer.vars?.["SLUICE_API_KEYS"]))).toEqual([
      {
        name: "local",
        sha256: "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
        scopes: ["ingest", "read", "admin"],
      },
    ]);
  });

  it("accepts no key by default", () => {
    const { producer } = localConfigurations({ mode: "lexical", tickSeconds: 1, events: false });
    expect(producer.vars).toMatchObject({ SLUICE_API_KEYS: "[]" });
  });
});

describe("local configuration files", () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  it("work in any folder: every path is absolute and exists", () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-configuration-"));
    folders.push(folder);
    const paths = writeLocalConfigurations(folder, options);
    expect(Object.keys(paths)).toEqual([...localWorkers]);
    for (const worker of localWorkers) {
      const configuration = JSON.parse(readFileSync(paths[worker], "utf8"));
      expect(configuration).toEqual(localConfigurations(options)[worker]);
      const leading = [
        configuration.main,
        ...(configuration.d1_databases ?? []).map((one: { migrations_dir: string }) => one.migrations_dir),
      ];
      for (const path of leading) {
        expect(isAbsolute(path), path).toBe(true);
        expect(existsSync(path), path).toBe(true);
      }
    }
  });
});
