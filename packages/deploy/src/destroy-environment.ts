import { err, ok, type Result } from "@sluice/core";
import { describeDeployment, PRODUCTION, readConfigurations } from "./deployment.ts";
import { EnvironmentFiles } from "./files.ts";
import { readAccount } from "./inventory.ts";
import type { Io } from "./io.ts";
import { planRemoval } from "./plan.ts";
import { describePlan, runPlan } from "./run-plan.ts";

export interface DestroyOptions {
  readonly environment: string;
  /** Do not ask. Has no effect on production. */
  readonly yes: boolean;
}

/** Deletes an environment with all its data, after asking. Returns why it failed. */
export async function destroyEnvironment({ environment, yes }: DestroyOptions, io: Io): Promise<Result<null, string>> {
  const deployment = describeDeployment(readConfigurations(), environment);
  io.print(`Looking at what the account has of ${environment} …`);
  const account = await readAccount(deployment, io.wrangler, io.accountId);
  if (!account.ok) return account;
  const plan = planRemoval(deployment, account.value);
  if (!plan.ok) return plan;
  const files = new EnvironmentFiles(environment, io.folder);
  if (plan.value.steps.length === 0) {
    files.removeAll();
    io.print(`The account has nothing of ${environment}.`);
    return ok(null);
  }
  io.print(`\nTo delete ${environment} with all its documents and scores:\n\n${describePlan(plan.value)}\n`);
  const agreed = await confirm(environment, yes, io);
  if (!agreed.ok) return agreed;
  const ran = await runPlan(plan.value, io, async () => ok(null));
  if (!ran.ok) return ran;
  files.removeAll();
  io.print(`\nDeleted ${environment}.`);
  return ok(null);
}

async function confirm(environment: string, yes: boolean, io: Io): Promise<Result<null, string>> {
  if (yes && environment !== PRODUCTION) return ok(null);
  const answer = await io.ask(`This cannot be undone. Type ${environment} to delete it: `);
  if (answer === environment) return ok(null);
  if (answer !== null) return err("Nothing was deleted.");
  return err(
    environment === PRODUCTION
      ? "Nothing was deleted: production is deleted only on a terminal, by typing its name."
      : "Nothing was deleted: there is no terminal to ask on. Add --yes to delete without asking.",
  );
}
