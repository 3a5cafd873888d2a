import { dirname, resolve } from "node:path";
import { DEFAULT_MODEL, err, ok, type Result } from "@sluice/core";
import {
  configurationPath,
  productionWorkers,
  readConfiguration,
  type Configuration,
} from "@sluice/local/configuration";

export type DeployedWorker = (typeof productionWorkers)[number];
export type Configurations = Readonly<Record<DeployedWorker, Configuration>>;

/** The consumers come before the producer, so that they can read every message of a new producer. */
export const deploymentOrder = ["consumer", "poller", "producer"] as const satisfies readonly DeployedWorker[];

/** The environment whose names have no suffix. */
export const PRODUCTION = "production";
/** Cloudflare allows 63 characters for a queue's name, and `sluice-interactive-dead-` has 24. */
const MAX_ENVIRONMENT_LENGTH = 30;

/** What a deployment consists of in the account: names only. */
export interface Deployment {
  readonly environment: string;
  readonly database: string;
  /** In deployment order. */
  readonly workers: readonly { readonly worker: DeployedWorker; readonly name: string }[];
  /** Dead-letter queues first: nothing checks that they exist when a Worker is deployed. */
  readonly queues: readonly { readonly name: string; readonly consumer: string }[];
  /** The subscription to the batch events of a model. */
  readonly subscription: { readonly queue: string; readonly name: string; readonly model: string };
}

/** Checks the name of an environment. It becomes the suffix of every name, so it must not turn one into another. */
export function parseEnvironment(name: string): Result<string, string> {
  if (name.length > MAX_ENVIRONMENT_LENGTH || !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    return err(
      `"${name}" cannot name an environment: use at most ${MAX_ENVIRONMENT_LENGTH} lowercase letters, digits and single ` +
        "hyphens, beginning with a letter.",
    );
  }
  if (/^dead(-|$)/.test(name)) {
    return err(`"${name}" cannot name an environment: sluice-bulk-${name} would be a dead-letter queue.`);
  }
  return ok(name);
}

/** The name in an environment: `sluice-bulk`, or `sluice-bulk-staging`. */
export function nameIn(environment: string, name: string): string {
  return environment === PRODUCTION ? name : `${name}-${environment}`;
}

/** Reads the configurations of the repository: the only source of what is deployed. */
export function readConfigurations(): Configurations {
  return {
    producer: readConfiguration("producer"),
    consumer: readConfiguration("consumer"),
    poller: readConfiguration("poller"),
  };
}

/**
 * Derives a Worker's configuration for an environment: its names, the id of its database, and absolute paths, because the
 * file is written elsewhere.
 */
export function environmentConfiguration(
  worker: DeployedWorker,
  source: Configuration,
  environment: string,
  databaseId: string,
): Configuration {
  const { $schema: _, route, routes, ...rest } = source;
  const folder = dirname(configurationPath(worker));
  const rename = (name: string) => nameIn(environment, name);
  const ours = new Set(productionWorkers.map((one) => `sluice-${one}`));
  // A route leads to one Worker: in another environment it would take production's requests.
  const isProduction = environment === PRODUCTION;
  return {
    ...rest,
    ...(isProduction && route !== undefined && { route }),
    ...(isProduction && routes !== undefined && { routes }),
    ...(rest.name !== undefined && { name: rename(rest.name) }),
    ...(rest.main !== undefined && { main: resolve(folder, rest.main) }),
    ...(rest.assets?.directory !== undefined && {
      assets: { ...rest.assets, directory: resolve(folder, rest.assets.directory) },
    }),
    ...(rest.d1_databases !== undefined && {
      d1_databases: rest.d1_databases.map((database) => ({
        ...database,
        ...(database.database_name !== undefined && { database_name: rename(database.database_name) }),
        database_id: databaseId,
        ...(database.migrations_dir !== undefined && { migrations_dir: resolve(folder, database.migrations_dir) }),
      })),
    }),
    ...(rest.services !== undefined && {
      services: rest.services.map((one) => (ours.has(one.service) ? { ...one, service: rename(one.service) } : one)),
    }),
    ...(rest.queues !== undefined && { queues: renamedQueues(rest.queues, rename) }),
  };
}

type Queues = NonNullable<Configuration["queues"]>;

function renamedQueues({ producers = [], consumers = [] }: Queues, rename: (name: string) => string): Queues {
  return {
    producers: producers.map((one) => ({ ...one, ...(one.queue !== undefined && { queue: rename(one.queue) }) })),
    consumers: consumers.map((one) => ({
      ...one,
      queue: rename(one.queue),
      ...(one.dead_letter_queue !== undefined && { dead_letter_queue: rename(one.dead_letter_queue) }),
    })),
  };
}

/** Lists what the configurations need in the account. Throws if they lack a name that every deployment has. */
export function describeDeployment(configurations: Configurations, environment: string): Deployment {
  const rename = (name: string) => nameIn(environment, name);
  const workers = deploymentOrder.map((worker) => ({
    worker,
    name: rename(present(configurations[worker].name, `the name of ${worker}`)),
  }));
  const consumers = workers.flatMap(({ worker, name }) =>
    (configurations[worker].queues?.consumers ?? []).map((one) => ({ name: rename(one.queue), consumer: name })),
  );
  const deadLetters = new Set(
    deploymentOrder
      .flatMap((worker) => configurations[worker].queues?.consumers ?? [])
      .flatMap((one) => (one.dead_letter_queue === undefined ? [] : [rename(one.dead_letter_queue)])),
  );
  const events = configurations.poller.queues?.producers?.find(({ binding }) => binding === "EVENTS")?.queue;
  return {
    environment,
    database: rename(present(configurations.producer.d1_databases?.[0]?.database_name, "the name of the database")),
    workers,
    queues: [
      ...consumers.filter(({ name }) => deadLetters.has(name)),
      ...consumers.filter(({ name }) => !deadLetters.has(name)),
    ],
    subscription: {
      queue: rename(present(events, "the events queue of poller")),
      name: rename(`sluice-${DEFAULT_MODEL.slice(DEFAULT_MODEL.lastIndexOf("/") + 1)}`),
      model: DEFAULT_MODEL,
    },
  };
}

function present(name: string | undefined, what: string): string {
  if (name === undefined) throw new Error(`workers/*/wrangler.jsonc lacks ${what}`);
  return name;
}
