import { parseArgs } from "node:util";
import { err, ok, type Result } from "@sluice/core";
import { PNPM } from "../command.ts";

/** The arguments of `sql`. */
export interface SqlCall {
  /** `null` if the statements are in `file`. */
  readonly sql: string | null;
  readonly file: string | null;
  readonly remote: boolean;
  /** The environment of `deploy:cloudflare`; `null`: production. */
  readonly environment: string | null;
  readonly json: boolean;
  readonly write: boolean;
  readonly yes: boolean;
  /** Flags for wrangler, one word each. */
  readonly flags: readonly string[];
}

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  remote: { type: "boolean" },
  local: { type: "boolean" },
  json: { type: "boolean" },
  write: { type: "boolean" },
  yes: { type: "boolean", short: "y" },
  preview: { type: "boolean" },
  command: { type: "string" },
  file: { type: "string" },
  env: { type: "string", short: "e" },
  profile: { type: "string" },
} as const;

const VALUE_OPTIONS = ["--command", "--file", "--env", "-e", "--profile"];
/** Any other argument is SQL, including one that begins with a comment: `-- note`. */
const OPTION = /^(?:-[a-zA-Z]+|--[a-z][a-z-]*(?:=[\s\S]*)?)$/;

/** Parses the arguments. Returns an error, or `"help"` for `--help`. */
export function readSqlArguments(args: readonly string[]): Result<SqlCall | "help", string> {
  let parsed;
  try {
    parsed = parseArgs({ args: separated(args), options: OPTIONS, allowPositionals: true });
  } catch (error) {
    return err(`${error instanceof Error ? error.message : String(error)} (--help lists the options)`);
  }
  const { values, positionals } = parsed;
  if (values.help === true) return ok("help");
  const statements = [...positionals, ...(values.command === undefined ? [] : [values.command])];
  const [sql = null] = statements;
  const file = values.file ?? null;
  if (statements.length + (file === null ? 0 : 1) !== 1 || sql?.trim() === "") {
    return err(`sql needs one quoted argument: ${PNPM} sql "SELECT * FROM best LIMIT 5"`);
  }
  const { remote = false, local = false, json = false, write = false, yes = false } = values;
  if (remote && local) return err("--local and --remote cannot be combined");
  if (values.env !== undefined && !remote) return err("--env needs --remote: the local state has one environment");
  const environment = values.env ?? null;
  const flags = [
    ...(values.profile === undefined ? [] : [`--profile=${values.profile}`]),
    ...(values.preview === true ? ["--preview"] : []),
  ];
  return ok({ sql, file, remote, environment, json, write, yes, flags });
}

/** The same arguments with each value joined to its option, and SQL after `--`. */
function separated(args: readonly string[]): string[] {
  const options: string[] = [];
  const sql: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const argument = args[at] ?? "";
    const next = args[at + 1];
    if (argument === "--") {
      sql.push(...args.slice(at + 1));
      break;
    }
    if (VALUE_OPTIONS.includes(argument) && next !== undefined) {
      options.push(`${argument === "-e" ? "--env" : argument}=${next}`);
      at += 1;
    } else if (OPTION.test(argument)) {
      options.push(argument);
    } else {
      sql.push(argument);
    }
  }
  return [...options, "--", ...sql];
}
