import { print, whenReaderLeaves } from "@sluice/client/terminal";
import { parseArguments, PNPM, refuse } from "@sluice/local/command";
import { deployEnvironment } from "./deploy-environment.ts";
import { parseEnvironment, PRODUCTION } from "./deployment.ts";
import { terminalIo } from "./io.ts";

const HELP = `Deploys Sluice to Cloudflare: ${PNPM} deploy:cloudflare [options]

  Looks at the account, prints what it will do, asks, and does it: queues, D1,
  migrations, Workers, the first API key, the subscription to batch events.
  Run it again after a failure, and for each new version.
  --dry-run    only print the plan and build the Workers; needs no account
  --env NAME   a separate set with the suffix -NAME       (default ${PRODUCTION})
  --yes        do not ask

  Needs a login (${PNPM} exec wrangler login) or
  CLOUDFLARE_API_TOKEN, and the Workers Paid plan. CLOUDFLARE_ACCOUNT_ID selects
  one of several accounts.`;

async function main(): Promise<void> {
  whenReaderLeaves([process.stdout, process.stderr], () => process.exit(0));
  const parsed = parseArguments(
    {
      help: { type: "boolean", short: "h" },
      "dry-run": { type: "boolean" },
      yes: { type: "boolean", short: "y" },
      env: { type: "string" },
    },
    false,
  );
  if (!parsed.ok) return refuse(parsed.error, 2);
  const { values } = parsed.value;
  if (values.help === true) return print(HELP);
  const environment = parseEnvironment(values.env ?? PRODUCTION);
  if (!environment.ok) return refuse(environment.error, 2);
  const options = {
    environment: environment.value,
    dryRun: values["dry-run"] === true,
    yes: values.yes === true,
  };
  const deployed = await deployEnvironment(options, terminalIo());
  if (!deployed.ok) refuse(`\n${deployed.error}`, 1);
}

await main();
