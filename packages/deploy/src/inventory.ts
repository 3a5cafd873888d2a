import { err, ok, type Result } from "@sluice/core";
import { PNPM } from "@sluice/local/command";
import {
  parseAccounts,
  parseConsumers,
  parseDatabaseId,
  parseOutput,
  parseSecrets,
  parseSubscriptions,
  type Account,
  type Subscription,
} from "./account.ts";
import type { Deployment } from "./deployment.ts";
import { describeFailure, type Failure } from "./failures.ts";
import type { Wrangler } from "./wrangler.ts";

/** Asks the account what it already has of a deployment. Returns why it cannot tell. */
export async function readAccount(
  deployment: Deployment,
  wrangler: Wrangler,
  accountId: string | undefined,
): Promise<Result<Account, string>> {
  const login = await checkLogin(wrangler, accountId);
  if (!login.ok) return login;
  const database = await readDatabaseId(deployment.database, wrangler);
  if (!database.ok) return database;
  const queues = await readQueues(deployment, wrangler);
  if (!queues.ok) return queues;
  const workers = new Map<string, readonly string[]>();
  for (const { name } of deployment.workers) {
    const secrets = await readSecrets(name, wrangler);
    if (!secrets.ok) return secrets;
    if (secrets.value !== null) workers.set(name, secrets.value);
  }
  const { queue } = deployment.subscription;
  const subscriptions = queues.value.has(queue) ? await readSubscriptions(queue, wrangler) : [];
  return ok({ databaseId: database.value, queues: queues.value, workers, subscriptions });
}

async function checkLogin(wrangler: Wrangler, accountId: string | undefined): Promise<Result<null, string>> {
  const answer = await ask(wrangler, ["whoami", "--json"]);
  if (!answer.ok) {
    const { code, text } = answer.error;
    if (code === null && /"loggedIn": ?false/.test(text)) {
      return err(
        `wrangler is not logged in. Run ${PNPM} exec wrangler login first, or set CLOUDFLARE_API_TOKEN. ` +
          "To see the plan without an account, add --dry-run.",
      );
    }
    return err(describeFailure(answer.error));
  }
  const accounts = parseAccounts(answer.value);
  if (accounts.length < 2 || accountId !== undefined) return ok(null);
  const lines = accounts.map(({ id, name }) => `  ${id}  ${name}`);
  return err(`The login has several accounts. Set CLOUDFLARE_ACCOUNT_ID to one of them:\n${lines.join("\n")}`);
}

/** The id of the database of this name; `null` if there is none. */
export async function readDatabaseId(name: string, wrangler: Wrangler): Promise<Result<string | null, string>> {
  const answer = await ask(wrangler, ["d1", "list", "--json"]);
  return answer.ok ? ok(parseDatabaseId(answer.value, name)) : err(describeFailure(answer.error));
}

/** The queues that exist, with their consumers. `queues list` prints no JSON; a queue's consumers do. */
export async function readQueues(
  { queues }: Pick<Deployment, "queues">,
  wrangler: Wrangler,
): Promise<Result<Account["queues"], string>> {
  const found = new Map<string, readonly string[]>();
  for (const { name } of queues) {
    const answer = await ask(wrangler, ["queues", "consumer", "list", name, "--json"]);
    if (answer.ok) found.set(name, parseConsumers(answer.value));
    else if (!answer.error.text.includes(`Queue "${name}" does not exist`)) return err(describeFailure(answer.error));
  }
  return ok(found);
}

/** The secrets of a Worker; `null` if it does not exist. */
async function readSecrets(name: string, wrangler: Wrangler): Promise<Result<string[] | null, string>> {
  const answer = await ask(wrangler, ["secret", "list", "--name", name, "--format", "json"]);
  if (answer.ok) return ok(parseSecrets(answer.value));
  const { code, text } = answer.error;
  const isMissing = code === 10007 || code === 10090 || text.includes(`Worker "${name}" not found`);
  return isMissing ? ok(null) : err(describeFailure(answer.error));
}

/** `null` if they cannot be listed: a token may lack the permission, and Sluice works without events. */
async function readSubscriptions(queue: string, wrangler: Wrangler): Promise<Subscription[] | null> {
  const answer = await ask(wrangler, ["queues", "subscription", "list", queue, "--per-page", "100", "--json"]);
  return answer.ok ? parseSubscriptions(answer.value) : null;
}

async function ask(wrangler: Wrangler, args: readonly string[]): Promise<Result<unknown, Failure>> {
  const run = await wrangler(args);
  if (!run.ok) return run;
  const parsed = parseOutput(run.value.text);
  return parsed.ok ? parsed : err({ args, code: null, text: parsed.error });
}
