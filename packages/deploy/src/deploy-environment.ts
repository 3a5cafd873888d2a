import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { err, ok, type Result } from "@sluice/core";
import { PNPM } from "@sluice/local/command";
import { EMPTY_ACCOUNT, withoutConsumer } from "./account.ts";
import {
  deploymentOrder,
  describeDeployment,
  readConfigurations,
  type Configurations,
  type Deployment,
} from "./deployment.ts";
import { describeFailure } from "./failures.ts";
import { EnvironmentFiles } from "./files.ts";
import { readAccount, readDatabaseId, readQueues } from "./inventory.ts";
import type { Io } from "./io.ts";
import { planDeployment, type Plan } from "./plan.ts";
import { describePlan, runPlan } from "./run-plan.ts";
import type { Output } from "./wrangler.ts";

export interface DeployOptions {
  readonly environment: string;
  readonly dryRun: boolean;
  /** Do not ask before the plan runs. */
  readonly yes: boolean;
}

/** The id that the tracked configurations contain: no database has it. */
const NO_DATABASE = "00000000-0000-0000-0000-000000000000";

/** Deploys an environment, or with `dryRun` prints the plan and builds the Workers. Returns why it failed. */
export async function deployEnvironment(options: DeployOptions, io: Io): Promise<Result<null, string>> {
  const sources = readConfigurations();
  const deployment = describeDeployment(sources, options.environment);
  const files = new EnvironmentFiles(options.environment, io.folder);
  if (options.dryRun) return dryRun(deployment, sources, files, io);

  io.print(`Looking at what the account has of ${options.environment} …`);
  const account = await readAccount(deployment, io.wrangler, io.accountId);
  if (!account.ok) return account;
  const plan = planDeployment(deployment, account.value, files);
  if (!plan.ok) return plan;
  io.print(`\nTo deploy ${options.environment}:\n\n${describePlan(plan.value)}\n`);
  if (!options.yes) {
    const answer = await io.ask("Type yes to run it: ");
    if (answer === null) return err("Nothing was run: there is no terminal to ask on. Add --yes to run the plan.");
    if (answer !== "yes") return err("Nothing was run.");
  }
  return execute(deployment, sources, plan.value, account.value.databaseId, files, io);
}

/** Needs no account: plans for an empty one, and builds each Worker from its generated configuration. */
async function dryRun(
  deployment: Deployment,
  sources: Configurations,
  files: EnvironmentFiles,
  io: Io,
): Promise<Result<null, string>> {
  const plan = planDeployment(deployment, EMPTY_ACCOUNT, files);
  if (!plan.ok) return plan;
  io.print(
    `To deploy ${deployment.environment} to an account that has nothing of it yet:\n\n${describePlan(plan.value)}\n`,
  );
  const folder = mkdtempSync(join(tmpdir(), "sluice-deploy-"));
  try {
    const built = new EnvironmentFiles(deployment.environment, folder);
    built.writeConfigurations(sources, NO_DATABASE);
    for (const worker of deploymentOrder) {
      const run = await io.wrangler(["deploy", "--dry-run", "-c", built.configuration(worker)]);
      if (!run.ok) return err(`${worker} cannot be built.\n\n${describeFailure(run.error)}`);
      io.print(`✓ ${worker} builds from its generated configuration`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  io.print("Nothing was deployed: this was a dry run.");
  return ok(null);
}

async function execute(
  deployment: Deployment,
  sources: Configurations,
  plan: Plan,
  databaseId: string | null,
  files: EnvironmentFiles,
  io: Io,
): Promise<Result<null, string>> {
  let url: string | null = null;
  if (databaseId !== null) files.writeConfigurations(sources, databaseId);
  if (plan.createsKey) files.writeSecrets(files.keepKey(io.random()));
  try {
    const ran = await runPlan(plan, io, async ({ follow }, output) => {
      if (follow === "read_url") url = urlOf(output);
      if (follow !== "read_database_id") return ok(null);
      const id = await createdDatabaseId(deployment.database, output, io);
      if (id.ok) files.writeConfigurations(sources, id.value);
      return id.ok ? ok(null) : id;
    });
    if (!ran.ok) return ran;
  } finally {
    files.removeSecrets();
  }
  const consumed = await checkConsumers(deployment, io);
  if (!consumed.ok) return consumed;
  report(deployment.environment, url, files, plan.createsKey, io);
  return ok(null);
}

/** `d1 create` prints no JSON, so the list is asked for the id. It may lag behind; the printed text has the id too. */
async function createdDatabaseId(name: string, output: Output, io: Io): Promise<Result<string, string>> {
  const listed = await readDatabaseId(name, io.wrangler);
  if (!listed.ok) return listed;
  const id = listed.value ?? /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(output.text)?.[0];
  return id === undefined ? err(`${name} was created but is not listed yet. Run this again in a minute.`) : ok(id);
}

/** A deployment may succeed without attaching the Worker to its queues. */
async function checkConsumers(deployment: Deployment, io: Io): Promise<Result<null, string>> {
  const queues = await readQueues(deployment, io.wrangler);
  if (!queues.ok) return queues;
  const lonely = withoutConsumer(deployment, { queues: queues.value });
  if (lonely.length === 0) {
    io.print(`✓ each of the ${deployment.queues.length} queues has its consumer`);
    return ok(null);
  }
  return err(
    `The Workers are deployed, but nothing consumes ${lonely.join(", ")}. Run this again: deploying attaches the Workers. ` +
      "If it stays so, look at the queue's consumers in the dashboard.",
  );
}

/** The first address that a person can open, of the Worker's own or of its routes. */
function urlOf({ targets }: Output): string | null {
  const url = targets.find((one) => one.startsWith("https://"));
  if (url !== undefined) return url;
  // A route or custom domain: `api.example.com/* (zone name: example.com)`.
  const route = targets.map((one) => /^(?:[\w-]+\.)+[\w-]+/.exec(one)?.[0]).find((host) => host !== undefined);
  return route === undefined ? null : `https://${route}`;
}

function report(environment: string, url: string | null, files: EnvironmentFiles, createsKey: boolean, io: Io): void {
  const key = files.unprintedKey();
  const address = url ?? "URL";
  io.print(`\nDeployed ${environment}${url === null ? "" : `: ${url}`}`);
  if (key !== null) {
    const when = createsKey ? "" : ", created by an earlier run that failed";
    io.print(`\nAPI key with every scope${when}. It is shown once; the account has only its hash:\n\n  ${key}`);
  }
  io.print(`\nTo verify it in a few minutes:\n\n  ${PNPM} smoke --url ${address} --key ${key ?? "KEY"}`);
  files.forgetKey();
}
