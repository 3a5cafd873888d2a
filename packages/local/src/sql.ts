import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { shellCommand } from "@sluice/core/shell";
import { callerFolder, commandSettings, PNPM, refuse } from "./command.ts";
import { configurationPath } from "./configuration.ts";
import { folderProblem, unusable } from "./state.ts";
import { renderAnswer } from "./table.ts";
import { WRANGLER, wranglerEnvironment } from "./wrangler.ts";

const HELP = `SQL on D1: ${PNPM} sql "SELECT … FROM scores …" [--remote] [flags of wrangler d1 execute]

  Local state of dev and demo (SLUICE_STATE, default .sluice), whether they run or not.
  --remote   the database on Cloudflare
  --json     as JSON, with every text in full`;

/** On a terminal. */
const WIDEST_CELL = 60;

function main(args: readonly string[]): void {
  if (args.includes("--help") || args.includes("-h")) return console.log(HELP);
  const given = args.some((argument) => /^--(file|command)(=|$)/.test(argument));
  const end = args.indexOf("--");
  const statement = given ? -1 : end >= 0 ? end + 1 : args.findIndex((argument) => !argument.startsWith("-"));
  if (args[statement] === undefined && !given)
    return refuse(`sql wants a statement: ${PNPM} sql "SELECT * FROM best LIMIT 5"`, 2);
  const settings = commandSettings(60);
  if (!settings.ok) return refuse(settings.error, 2);
  const { state } = settings.value;
  const remote = args.includes("--remote");
  const problem = remote ? null : folderProblem(state);
  if (problem !== null) return refuse(unusable(state, problem), 1);
  const configuration = remote ? configurationPath("producer") : join(state, "config", "producer", "wrangler.json");
  if (!remote && !existsSync(configuration)) {
    return refuse(`There is no state in ${state} yet: run ${PNPM} demo first, or set SLUICE_STATE to where it is.`, 1);
  }
  const where = remote ? [] : ["--local", "--persist-to", state];
  const passed = args.flatMap((argument, index) => {
    if (index === statement) return [`--command=${argument}`];
    return index === end ? [] : [argument];
  });
  const line = ["d1", "execute", "sluice", ...where, "-c", configuration, ...passed];
  console.error(`$ ${shellCommand(["wrangler", ...line])}`);
  // Questions of --remote need a terminal; everything else about wrangler is as in the stack.
  const { CI: _, ...env } = wranglerEnvironment(state);
  if (remote || args.includes("--json")) {
    runWrangler(line, "inherit", remote ? { ...process.env, WRANGLER_HIDE_BANNER: "true" } : env);
    return;
  }
  // Around its table wrangler recommends --remote twice, and off a terminal it prints no table.
  const said = runWrangler([...line, "--json"], "pipe", env);
  const answer = renderAnswer(said, process.stdout.isTTY ? WIDEST_CELL : Number.POSITIVE_INFINITY);
  if (answer === null || process.exitCode !== 0) console.error(answer ?? said.trim());
  else console.log(answer);
}

/** Gives what it printed, where that is not shown. */
function runWrangler(line: readonly string[], output: "inherit" | "pipe", env: NodeJS.ProcessEnv): string {
  const run = spawnSync(process.execPath, ["--no-warnings", WRANGLER, ...line], {
    stdio: ["inherit", output, "inherit"],
    env,
    cwd: callerFolder(),
    maxBuffer: Number.POSITIVE_INFINITY,
    encoding: "utf8",
  });
  process.exitCode = run.status ?? 1;
  return output === "pipe" ? run.stdout : "";
}

main(process.argv.slice(2));
