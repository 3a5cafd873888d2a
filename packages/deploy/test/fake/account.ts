import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

/** A Cloudflare account, as far as the commands of wrangler that Sluice uses can change it. */
export interface FakeAccount {
  readonly plan: "paid" | "free";
  readonly loggedIn: boolean;
  readonly accounts: readonly { readonly id: string; readonly name: string }[];
  /** `null`: none is registered yet. */
  readonly subdomain: string | null;
  databases: Record<string, { uuid: string; migrations: string[] }>;
  queues: Record<string, { retention: number; consumer: string | null; deadLetters: string | null }>;
  workers: Record<string, FakeWorker>;
  subscriptions: Record<string, { queue: string; model: string; events: string[]; enabled: boolean }>;
  /** Every command so far. */
  readonly calls: string[][];
  /** The command that fails, from 0: before it has taken effect, or after, as if its answer were lost. */
  failAt: { readonly call: number; readonly when: "before" | "after" } | null;
}

export interface FakeWorker {
  /** The uuid of the database, the names of the queues it writes to, whether it binds Workers AI. */
  database: string | null;
  writes: string[];
  ai: boolean;
  crons: string[];
  secrets: Record<string, string>;
}

export function emptyAccount(changes: Partial<FakeAccount> = {}): FakeAccount {
  return {
    plan: "paid",
    loggedIn: true,
    accounts: [{ id: "a1", name: "Acme" }],
    subdomain: "acme",
    databases: {},
    queues: {},
    workers: {},
    subscriptions: {},
    calls: [],
    failAt: null,
    ...changes,
  };
}

/** A failed command, with what wrangler prints and the code that its report has. */
export class CommandFailure extends Error {
  readonly code: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.code = code;
  }
}

/** An error answer of Cloudflare's API, in wrangler's words. */
export function apiError(message: string, code: number): CommandFailure {
  const text = `A request to the Cloudflare API (/accounts/a1/…) failed.\n\n  ${message} [code: ${code}]`;
  return new CommandFailure(text, code);
}

/** An id that depends on the name only, so that two runs can be compared. */
export function idOf(name: string): string {
  const hex = hash("sha256", name);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}

/** A day, all that the free plan allows. */
const FREE_RETENTION_SECONDS = 86_400;

export function setRetention(account: FakeAccount, name: string, seconds: number): void {
  if (account.plan === "free" && seconds > FREE_RETENTION_SECONDS) {
    throw apiError("message_retention_period must be between 60 and 86400 on the free tier", 100_100);
  }
  account.queues[name] = { consumer: null, deadLetters: null, ...account.queues[name], retention: seconds };
}

export function queueOf(account: FakeAccount, name: string): FakeAccount["queues"][string] {
  const queue = account.queues[name];
  if (queue === undefined) {
    throw new CommandFailure(`Queue "${name}" does not exist. To create it, run: wrangler queues create ${name}`);
  }
  return queue;
}

interface DeployedConfiguration {
  name: string;
  main: string;
  ai?: unknown;
  triggers?: { crons: string[] };
  d1_databases?: { database_name: string; database_id: string; migrations_dir: string }[];
  queues?: { producers?: { queue: string }[]; consumers?: { queue: string; dead_letter_queue?: string }[] };
}

export function readDeployed(path: string): DeployedConfiguration {
  if (!existsSync(path)) throw new CommandFailure(`Could not read file: ${path}`);
  return JSON.parse(readFileSync(path, "utf8")) as DeployedConfiguration;
}

export function applyMigrations(account: FakeAccount, name: string, path: string): void {
  const bound = readDeployed(path).d1_databases?.find((one) => one.database_name === name);
  if (bound === undefined) throw new CommandFailure(`Couldn't find a D1 DB with the name or binding '${name}'`);
  const database = Object.values(account.databases).find(({ uuid }) => uuid === bound.database_id);
  if (database === undefined) throw apiError(`The database ${bound.database_id} could not be found`, 7404);
  database.migrations = readdirSync(bound.migrations_dir).filter((file) => file.endsWith(".sql"));
}

/** Uploads a Worker, then attaches it to its queues, as wrangler does. Returns its targets. */
export function deployWorker(account: FakeAccount, path: string, secretsFile: string | undefined): string[] {
  const { name, main, ai, triggers, d1_databases = [], queues = {} } = readDeployed(path);
  const { producers = [], consumers = [] } = queues;
  if (!existsSync(main)) throw new CommandFailure(`The entry-point file at "${main}" was not found.`);
  for (const { queue } of [...producers, ...consumers]) queueOf(account, queue);
  const database = d1_databases[0]?.database_id ?? null;
  if (database !== null && !Object.values(account.databases).some(({ uuid }) => uuid === database)) {
    throw apiError("binding DB of type d1 must have a valid `id` specified", 10_021);
  }
  const secrets =
    secretsFile === undefined ? {} : (JSON.parse(readFileSync(resolve(secretsFile), "utf8")) as Record<string, string>);
  account.workers[name] = {
    database,
    writes: producers.map(({ queue }) => queue),
    ai: ai !== undefined,
    crons: triggers?.crons ?? [],
    secrets: { ...account.workers[name]?.secrets, ...secrets },
  };
  for (const { queue, dead_letter_queue = null } of consumers) {
    const attached = queueOf(account, queue);
    if (attached.consumer !== null && attached.consumer !== name) {
      throw apiError(`Queue ${queue} already has a consumer`, 11_004);
    }
    account.queues[queue] = { ...attached, consumer: name, deadLetters: dead_letter_queue };
  }
  if (account.subdomain === null) throw apiError("You need a workers.dev subdomain", 10_063);
  return [
    ...producers.map(({ queue }) => `Producer for ${queue}`),
    `https://${name}.${account.subdomain}.workers.dev`,
    ...consumers.map(({ queue }) => `Consumer for ${queue}`),
  ];
}

export function deleteWorker(account: FakeAccount, name: string): void {
  if (account.workers[name] === undefined) throw apiError("This Worker does not exist on your account.", 10_007);
  const consumed = Object.entries(account.queues).find(([, { consumer }]) => consumer === name);
  if (consumed !== undefined) throw apiError(`${name} consumes the queue ${consumed[0]}`, 10_064);
  delete account.workers[name];
}

export function deleteQueue(account: FakeAccount, name: string): void {
  const { consumer } = queueOf(account, name);
  const writer = Object.entries(account.workers).find(([, { writes }]) => writes.includes(name));
  const user = consumer ?? writer?.[0];
  if (user !== undefined) throw apiError(`The queue ${name} is used by ${user}`, 11_005);
  delete account.queues[name];
}

export function readAccountFile(path: string): FakeAccount {
  return JSON.parse(readFileSync(path, "utf8")) as FakeAccount;
}

export function writeAccountFile(path: string, account: FakeAccount): void {
  writeFileSync(path, JSON.stringify(account, null, 2));
}
