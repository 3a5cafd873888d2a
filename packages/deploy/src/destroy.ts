import { print, whenReaderLeaves } from "@sluice/client/terminal";
import { parseArguments, PNPM, refuse } from "@sluice/local/command";
import { parseEnvironment, PRODUCTION } from "./deployment.ts";
import { destroyEnvironment } from "./destroy-environment.ts";
import { terminalIo } from "./io.ts";

const HELP = `Deletes an environment from Cloudflare: ${PNPM} destroy:cloudflare --env NAME [--yes]

  Prints what it will delete, asks for the environment's name, and deletes it in
  the reverse order of a deployment, with all documents and scores. Run it again
  after a failure.
  --env NAME   the environment; ${PRODUCTION} must be named too
  --yes        do not ask; has no effect on ${PRODUCTION}`;

async function main(): Promise<void> {
  whenReaderLeaves([process.stdout, process.stderr], () => process.exit(0));
  const parsed = parseArguments(
    { help: { type: "boolean", short: "h" }, yes: { type: "boolean", short: "y" }, env: { type: "string" } },
    false,
  );
  if (!parsed.ok) return refuse(parsed.error, 2);
  const { values } = parsed.value;
  if (values.help === true) return print(HELP);
  if (values.env === undefined) return refuse("Name the environment to delete: --env NAME", 2);
  const environment = parseEnvironment(values.env);
  if (!environment.ok) return refuse(environment.error, 2);
  const destroyed = await destroyEnvironment(
    { environment: environment.value, yes: values.yes === true },
    terminalIo(),
  );
  if (!destroyed.ok) refuse(`\n${destroyed.error}`, 1);
}

await main();
