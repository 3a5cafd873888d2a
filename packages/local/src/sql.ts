import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { callerFolder, commandSettings, PNPM, refuse, shellWord } from "./command.ts";
import { configurationPath } from "./configuration.ts";
import { WRANGLER, wranglerEnvironment } from "./wrangler.ts";

const HELP = `SQL on D1: ${PNPM} sql "SELECT … FROM scores …" [--remote] [flags of wrangler d1 execute]

  Local state of dev and demo (SLUICE_STATE, default .sluice), whether they run or not.
  --remote   the database on Cloudflare
  --json     rows as JSON`;

function main(args: readonly string[]): void {
  if (args.includes("--help") || args.includes("-h")) return console.log(HELP);
  const given = args.some((argument) => /^--(file|command)(=|$)/.test(argument));
  const statement = given ? -1 : args.findIndex((argument) => !argument.startsWith("-"));
  if (statement < 0 && !given) return refuse(`sql wants a statement: ${PNPM} sql "SELECT * FROM best LIMIT 5"`, 2);
  const settings = commandSettings(60);
  if (!settings.ok) return refuse(settings.error, 2);
  const { state } = settings.value;
  const remote = args.includes("--remote");
  const configuration = remote ? configurationPath("producer") : join(state, "config", "producer", "wrangler.json");
  if (!remote && !existsSync(configuration)) {
    return refuse(`There is no state in ${state} yet: run ${PNPM} demo first, or set SLUICE_STATE to where it is.`, 1);
  }
  const where = remote ? [] : ["--local", "--persist-to", state];
  const passed = args.flatMap((argument, index) => (index === statement ? ["--command", argument] : [argument]));
  const line = ["d1", "execute", "sluice", ...where, "-c", configuration, ...passed];
  console.error(`$ wrangler ${line.map(shellWord).join(" ")}`);
  // Questions of --remote need a terminal; everything else about wrangler is as in the stack.
  const { CI: _, ...env } = wranglerEnvironment(state);
  const run = spawnSync(process.execPath, ["--no-warnings", WRANGLER, ...line], {
    stdio: "inherit",
    env: remote ? { ...process.env, WRANGLER_HIDE_BANNER: "true" } : env,
    cwd: callerFolder(),
  });
  process.exitCode = run.status ?? 1;
}

main(process.argv.slice(2));
