import { spawnSync } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { callerFolder } from "../command.ts";
import { WRANGLER, wranglerEnvironment } from "../wrangler.ts";

/** The database to query. */
export interface Target {
  readonly remote: boolean;
  readonly state: string;
  /** The path of the Worker's configuration that binds it. */
  readonly configuration: string;
  /** Further flags for wrangler. */
  readonly flags: readonly string[];
}

export interface Executed {
  /** The arguments given to wrangler. */
  readonly line: readonly string[];
  /** JSON, unless wrangler failed early. */
  readonly output: string;
  readonly errors: string;
  readonly code: number;
}

/** Runs `wrangler d1 execute` with `--command=SQL` or `--file=PATH`. */
export function executeSql(what: string, { remote, state, configuration, flags }: Target): Executed {
  // The command has already asked for confirmation.
  const where = remote ? ["--remote", "--yes"] : ["--local", "--persist-to", state];
  const line = ["d1", "execute", "sluice", ...where, "-c", configuration, ...flags, what, "--json"];
  // --remote uses the user's login and account. Everything else about wrangler is as in the stack.
  const env = remote ? { ...process.env, WRANGLER_HIDE_BANNER: "true" } : wranglerEnvironment(state);
  const run = spawnSync(process.execPath, ["--no-warnings", WRANGLER, ...line], {
    stdio: ["inherit", "pipe", "pipe"],
    env,
    cwd: callerFolder(),
    maxBuffer: Number.POSITIVE_INFINITY,
    encoding: "utf8",
  });
  const errors = stripVTControlCharacters(run.stderr).trimEnd();
  return { line, output: run.stdout.trimEnd(), errors, code: run.status ?? 1 };
}
