import { err, ok, type Result } from "@sluice/core";
import type { Deployment } from "./deployment.ts";

/** An event subscription that sends into the deployment's events queue. */
export interface Subscription {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly model: string | null;
  readonly events: readonly string[];
}

/** What an account already has of a deployment. */
export interface Account {
  /** `null`: there is no database of that name. */
  readonly databaseId: string | null;
  /** The queues that exist, with the Workers that consume each. */
  readonly queues: ReadonlyMap<string, readonly string[]>;
  /** The Workers that exist, with the names of their secrets. */
  readonly workers: ReadonlyMap<string, readonly string[]>;
  /** `null`: they could not be listed. */
  readonly subscriptions: readonly Subscription[] | null;
}

/** An account that has nothing yet. */
export const EMPTY_ACCOUNT: Account = { databaseId: null, queues: new Map(), workers: new Map(), subscriptions: [] };

/** A queue that another Worker consumes, so that this deployment cannot: a queue has one consumer. */
export function foreignConsumers(deployment: Deployment, account: Account): string[] {
  return deployment.queues.flatMap(({ name, consumer }) =>
    (account.queues.get(name) ?? []).filter((script) => script !== consumer).map((script) => `${name}: ${script}`),
  );
}

/** Queues that their Worker does not consume. */
export function withoutConsumer(deployment: Deployment, account: Pick<Account, "queues">): string[] {
  return deployment.queues
    .filter(({ name, consumer }) => account.queues.get(name)?.includes(consumer) !== true)
    .map(({ name }) => name);
}

type Fields = Readonly<Record<string, unknown>>;

/** Parses the JSON that wrangler prints, which warnings may precede. */
export function parseOutput(output: string): Result<unknown, string> {
  const start = output.search(/^[[{]/m);
  try {
    return ok(JSON.parse(output.slice(Math.max(start, 0))) as unknown);
  } catch {
    return err(`wrangler printed no JSON: ${output.trim().slice(0, 200)}`);
  }
}

/** Accounts of `whoami --json`. */
export function parseAccounts(value: unknown): { id: string; name: string }[] {
  return list(fields(value)["accounts"]).flatMap(({ id, name }) =>
    typeof id === "string" ? [{ id, name: typeof name === "string" ? name : id }] : [],
  );
}

/** The id of a database in `d1 list --json`. */
export function parseDatabaseId(value: unknown, name: string): string | null {
  const found = list(value).find((one) => one["name"] === name)?.["uuid"];
  return typeof found === "string" ? found : null;
}

/** The consumers in `queues consumer list --json`, each by its Worker's name. */
export function parseConsumers(value: unknown): string[] {
  return list(value).map(({ type, script, service }) => {
    const name = script ?? service;
    return typeof name === "string" ? name : `a consumer of type ${String(type)}`;
  });
}

/** `queues subscription list --json`. */
export function parseSubscriptions(value: unknown): Subscription[] {
  return list(value).flatMap(({ id, name, enabled, source, events }) => {
    if (typeof id !== "string") return [];
    const model = fields(source)["model_name"];
    return [
      {
        id,
        name: typeof name === "string" ? name : id,
        enabled: enabled !== false,
        model: typeof model === "string" ? model : null,
        events: Array.isArray(events) ? events.map(String) : [],
      },
    ];
  });
}

/** The names in `secret list --format json`. */
export function parseSecrets(value: unknown): string[] {
  return list(value).flatMap(({ name }) => (typeof name === "string" ? [name] : []));
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}
