import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { callerFolder } from "../command.ts";
import { WRANGLER, wranglerEnvironment } from "../wrangler.ts";

/** The database to query. */
export interface Target {
  readonly remote: boolean;
  /** The name of the database. */
  readonly database: string;
  readonly state: string;
  /** The path of the Worker's configuration that binds it. Not used for a remote database. */
  readonly configuration: string;
  /** Further flags for wrangler. */
  readonly flags: readonly string[];
}

export interface Executed {
  /** The arguments given to wrangler, without a temporary configuration. */
  readonly line: readonly string[];
  /** JSON, unless wrangler failed early. */
  readonly output: string;
  readonly errors: string;
  readonly code: number;
}

/** Runs `wrangler d1 execute` with `--command=SQL` or `--file=PATH`. */
export function executeSql(what: string, target: Target): Executed {
  if (!target.remote) return execute(what, target);
  // Without a binding, wrangler finds the database by its name: the tracked configurations do not contain its id.
  const folder = mkdtempSync(join(tmpdir(), "sluice-sql-"));
  try {
    const configuration = join(folder, "wrangler.json");
    writeFileSync(configuration, "{}");
    return execute(what, { ...target, configuration });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function execute(what: string, { remote, database, state, configuration, flags }: Target): Executed {
  // The command has already asked for confirmation.
  const where = remote ? ["--remote", "--yes"] : ["--local", "--persist-to", state];
  const file = ["-c", configuration];
  const line = ["d1", "execute", database, ...where, ...(remote ? [] : file), ...flags, what, "--json"];
  // --remote uses the user's login and account. Everything else about wrangler is as in the stack.
  const env = remote ? { ...process.env, WRANGLER_HIDE_BANNER: "true" } : wranglerEnvironment(state);
  const run = spawnSync(process.execPath, ["--no-warnings", WRANGLER, ...line, ...(remote ? file : [])], {
    stdio: ["inherit", "pipe", "pipe"],
    env,
    cwd: callerFolder(),
    maxBuffer: Number.POSITIVE_INFINITY,
    encoding: "utf8",
  });
  const errors = stripVTControlCharacters(run.stderr).trimEnd();
  return { line, output: run.stdout.trimEnd(), errors, code: run.status ?? 1 };
}
