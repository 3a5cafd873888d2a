import { hash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, printParseErrorCode, type ParseError } from "jsonc-parser";
import type { Unstable_RawConfig } from "wrangler";

/** The deployed Workers in starting order. Requests go to the first. */
export const productionWorkers = ["producer", "consumer", "poller"] as const;
/** The Workers of the local stack: the deployed ones and the stand-in for Workers AI. */
export const localWorkers = [...productionWorkers, "local-ai"] as const;
export type LocalWorker = (typeof localWorkers)[number];

/** How the stand-in computes scores: with a real model, from shared words, or with constant work. */
export const localAiModes = ["minilm", "lexical", "instant"] as const;
export type LocalAiMode = (typeof localAiModes)[number];

/** A wrangler configuration as parsed from its file. */
export type Configuration = Unstable_RawConfig;

export interface LocalOptions {
  readonly mode: LocalAiMode;
  /** The URL of the model process. Only `minilm` needs it. */
  readonly modelUrl?: string;
  /** Seconds between poller runs. */
  readonly tickSeconds: number;
  /** Whether the stand-in sends events when batches end. */
  readonly events: boolean;
  /** Variables of the poller instead of the deployed ones. */
  readonly retention?: Readonly<Record<string, string>>;
  /** The poller's `MAX_DATABASE_BYTES`; as deployed without it. */
  readonly maxDatabaseBytes?: number | null;
  /** The secret `SLUICE_API_KEYS`. Without it the producer refuses every request. */
  readonly apiKeys?: readonly ApiKey[];
}

export interface ApiKey {
  readonly name: string;
  /** SHA-256 of the key, in hex. */
  readonly sha256: string;
  readonly scopes: readonly ("ingest" | "read" | "admin")[];
}

/** The root folder of the checkout. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

/** Workers with the same id share a local database. Any id works. */
export const LOCAL_DATABASE_ID = "5111ce00-0000-4000-8000-000000000001";

/** Locally, do not wait long for a fuller batch or for a service to recover. */
const LOCAL_RETRY_SECONDS = 1;
/** Queues whose messages are delivered at once. The others wait for a second. */
const UNDELAYED_QUEUES: ReadonlySet<string> = new Set(["sluice-interactive", "sluice-events"]);

/** Formats a key with all scopes for the producer. */
export function fullKey(name: string, key: string): ApiKey {
  return { name, sha256: hash("sha256", key), scopes: ["ingest", "read", "admin"] };
}

export function configurationPath(worker: LocalWorker): string {
  return join(ROOT, "workers", worker, "wrangler.jsonc");
}

/** Reads the configuration of a Worker: the deployed one, except for the stand-in. Throws if the file is invalid. */
export function readConfiguration(worker: LocalWorker): Configuration {
  const path = configurationPath(worker);
  const errors: ParseError[] = [];
  const configuration = parse(readFileSync(path, "utf8"), errors, { allowTrailingComma: true }) as Configuration;
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${printParseErrorCode(error.error)} at offset ${error.offset}`);
  return configuration;
}

/**
 * Derives a Worker's local configuration from the deployed one: the stand-in instead of Workers AI, one local database,
 * short waits, no rate limit, and absolute paths.
 */
export function localConfiguration(
  worker: LocalWorker,
  options: LocalOptions,
  deployed = readConfiguration(worker),
): Configuration {
  const { $schema: _, ratelimits: _limits, ai, services = [], d1_databases, queues, assets, ...rest } = deployed;
  const folder = dirname(configurationPath(worker));
  const configuration: Configuration = { ...rest, vars: { ...rest.vars, ...localVars(worker, options) } };
  if (rest.main !== undefined) configuration.main = resolve(folder, rest.main);
  if (assets !== undefined) {
    configuration.assets =
      assets.directory === undefined ? assets : { ...assets, directory: resolve(folder, assets.directory) };
  }
  if (d1_databases !== undefined) {
    configuration.d1_databases = d1_databases.map((database) => ({
      ...database,
      database_id: LOCAL_DATABASE_ID,
      ...(database.migrations_dir === undefined ? {} : { migrations_dir: resolve(folder, database.migrations_dir) }),
    }));
  }
  if (queues !== undefined) {
    configuration.queues = { ...queues, ...(queues.consumers && { consumers: queues.consumers.map(withShortWaits) }) };
  }
  const standIn = ai === undefined ? [] : [{ binding: ai.binding, service: "local-ai", entrypoint: "WorkersAI" }];
  if (services.length + standIn.length > 0) configuration.services = [...services, ...standIn];
  return configuration;
}

/** The configurations of the whole stack in starting order. */
export function localConfigurations(options: LocalOptions): Record<LocalWorker, Configuration> {
  return forEachWorker((worker) => localConfiguration(worker, options));
}

/** Changes a Worker's configuration for a caller. */
export type Adapt = (worker: LocalWorker, configuration: Configuration) => Configuration;

/** Writes the stack's configurations to `DIRECTORY/WORKER/wrangler.json` and returns the paths. */
export function writeLocalConfigurations(
  directory: string,
  options: LocalOptions,
  adapt: Adapt = (_, configuration) => configuration,
): Record<LocalWorker, string> {
  return forEachWorker((worker) => {
    const path = resolve(directory, worker, "wrangler.json");
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(adapt(worker, localConfiguration(worker, options)), null, 2)}\n`);
    return path;
  });
}

function forEachWorker<T>(make: (worker: LocalWorker) => T): Record<LocalWorker, T> {
  return {
    producer: make("producer"),
    consumer: make("consumer"),
    poller: make("poller"),
    "local-ai": make("local-ai"),
  };
}

function localVars(worker: LocalWorker, options: LocalOptions): Record<string, string> {
  switch (worker) {
    case "producer":
      return { SLUICE_API_KEYS: JSON.stringify(options.apiKeys ?? []), SLUICE_SCORER: options.mode };
    case "consumer":
      return { RUN_INTERVAL_SECONDS: String(options.tickSeconds) };
    case "poller":
      return {
        RUN_INTERVAL_SECONDS: String(options.tickSeconds),
        ...options.retention,
        ...(typeof options.maxDatabaseBytes === "number" && { MAX_DATABASE_BYTES: String(options.maxDatabaseBytes) }),
      };
    case "local-ai":
      return { MODE: options.mode, MODEL_URL: options.modelUrl ?? "", SEND_EVENTS: options.events ? "on" : "off" };
  }
}

type Consumer = NonNullable<NonNullable<Configuration["queues"]>["consumers"]>[number];

function withShortWaits(consumer: Consumer): Consumer {
  return {
    ...consumer,
    max_batch_timeout: UNDELAYED_QUEUES.has(consumer.queue) ? 0 : 1,
    retry_delay: LOCAL_RETRY_SECONDS,
  };
}
