import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { harmlessJson, print, printError, shellCommand, whenReaderLeaves } from "@sluice/client/terminal";
import { commandSettings, PNPM, refuse } from "./command.ts";
import { readSqlArguments, type SqlCall } from "./sql/arguments.ts";
import { checkStatements, type Checked } from "./sql/check-statements.ts";
import { executeSql, type Target } from "./sql/execute.ts";
import { migratedSchema, readSchema } from "./sql/schema.ts";
import { folderProblem, unusable } from "./state.ts";
import { renderAnswer } from "./table.ts";

const HELP = `SQL on D1: ${PNPM} sql "SELECT … FROM scores …" [options]

  Local state of dev and demo (SLUICE_STATE, default .sluice), whether they run or not.
  Read-only by default: SELECT, WITH … SELECT, VALUES, EXPLAIN, and PRAGMA that reports.
  --write        allow statements that write
  --remote       the database on Cloudflare; asks before it writes
  --yes          do not ask
  --json         print JSON, with every text in full
  --file PATH    SQL from a file; needs --write
  --env NAME     with --remote: an environment of deploy:cloudflare
  --profile NAME, --preview
                 passed to wrangler d1 execute`;

/** On a terminal. */
const MAX_CELL_WIDTH = 60;

async function main(): Promise<void> {
  whenReaderLeaves([process.stdout, process.stderr], () => process.exit(0));
  const read = readSqlArguments(process.argv.slice(2));
  if (!read.ok) return refuse(read.error, 2);
  if (read.value === "help") return print(HELP);
  const call = read.value;
  const settings = commandSettings(60);
  if (!settings.ok) return refuse(settings.error, 2);
  const { state } = settings.value;
  const problem = call.remote ? null : folderProblem(state);
  if (problem !== null) return refuse(unusable(state, problem), 1);
  const configuration = join(state, "config", "producer", "wrangler.json");
  if (!call.remote && !existsSync(configuration)) {
    return refuse(`There is no state in ${state} yet: run ${PNPM} demo first, or set SLUICE_STATE to its folder.`, 1);
  }
  const { environment } = call;
  const database = environment === null || environment === "production" ? "sluice" : `sluice-${environment}`;
  const target = { remote: call.remote, database, state, configuration, flags: call.flags };
  if (!call.write) {
    const refusal = checkReads(call, target);
    if (refusal !== null) return refuse(refusal.message, refusal.code);
  } else if (call.remote && !call.yes && !(await confirmed())) {
    return refuse("Nothing was run.", 1);
  }
  run(call, target);
}

/** Returns why the call may write; `null` if it only reads. */
function checkReads({ sql, remote }: SqlCall, target: Target): { message: string; code: 1 | 2 } | null {
  if (sql === null) return { message: `The SQL in a file cannot be checked. ${howToWrite(remote)}`, code: 2 };
  const checked = check(sql, target);
  switch (checked.kind) {
    case "reads":
      return null;
    case "writes":
      return { message: `Not run, because it may write: ${checked.statement}\n${howToWrite(remote)}`, code: 2 };
    case "unknown":
      return { message: `Not run: ${checked.reason}`, code: 1 };
  }
}

function howToWrite(remote: boolean): string {
  const where = remote ? "the database on Cloudflare" : "the local database";
  return (
    "Without --write, sql runs SELECT, WITH … SELECT, VALUES, EXPLAIN, and PRAGMA that reports. " +
    `To change ${where}, add --write.`
  );
}

/** The schema of the migrations is enough for most statements. For an unknown name, the database itself is checked. */
function check(sql: string, target: Target): Checked {
  const checked = checkStatements(sql, migratedSchema());
  if (checked.kind !== "unknown" || !checked.reason.startsWith("no such ")) return checked;
  const schema = readSchema(target);
  return schema === null ? checked : checkStatements(sql, schema);
}

async function confirmed(): Promise<boolean> {
  if (!process.stdin.isTTY) {
    printError("This may change the database on Cloudflare: add --yes to run it without a prompt.");
    return false;
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asking.question("This may change the database on Cloudflare. Type yes to run it: ");
  asking.close();
  return answer.trim() === "yes";
}

function run({ sql, file, json }: SqlCall, target: Target): void {
  const what = sql === null ? `--file=${file ?? ""}` : `--command=${sql}`;
  const { line, output, errors, code } = executeSql(what, target);
  printError(`$ ${shellCommand(["wrangler", ...line])}`);
  if (errors !== "") printError(errors);
  process.exitCode = code;
  if (json) {
    process.stdout.write(`${harmlessJson(output)}\n`);
    return;
  }
  const answer = renderAnswer(output, process.stdout.isTTY ? MAX_CELL_WIDTH : Number.POSITIVE_INFINITY);
  if (answer === null || code !== 0) printError(answer ?? output);
  else print(answer);
}

await main();
