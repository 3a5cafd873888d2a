import { randomBytes } from "node:crypto";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { printError } from "@sluice/client/terminal";
import { err, ok, type Result } from "@sluice/core";
import { shellCommand, shellWord } from "@sluice/core/shell";
import { keepApiKey } from "./api-key.ts";
import { DEFAULT_STATE, readSettings, type Settings } from "./settings.ts";
import { prepareState } from "./state.ts";

/** How every command of this workspace is called. */
export const PNPM = "npx -y pnpm@12.4.2";

/** Where the person stands: pnpm itself runs scripts in the workspace's folder. */
export function callerFolder(): string {
  return process.env["INIT_CWD"] ?? process.cwd();
}

/** The command's settings, or what is wrong with them, a line each. */
export function commandSettings(tickSeconds: number): Result<Settings, string> {
  const settings = readSettings(process.env, callerFolder(), tickSeconds);
  return settings.ok ? settings : err(settings.error.join("\n"));
}

/** The key to use: the one that was given, else the one that is kept with the state. Or why there can be no state. */
export function commandKey(settings: Settings): Result<string, string> {
  const prepared = prepareState(settings.state);
  if (!prepared.ok) return prepared;
  return ok(settings.apiKey ?? keepApiKey(settings.state, randomBytes(24)));
}

/** A command of this workspace, as a person types it to find this state. */
export function commandLine(
  settings: Pick<Settings, "state">,
  words: readonly string[],
  positionals: readonly string[] = [],
): string {
  const state = settings.state === DEFAULT_STATE ? "" : `SLUICE_STATE=${shellWord(settings.state)} `;
  return `${state}${shellCommand([...PNPM.split(" "), ...words], positionals)}`;
}

export function sqlLine(settings: Pick<Settings, "state">, sql: string): string {
  return commandLine(settings, ["sql"], [sql]);
}

/** Parsed arguments, or the line that says what is wrong with them. */
export function parseArguments<Options extends ParseArgsOptionsConfig>(options: Options, allowPositionals: boolean) {
  try {
    return ok(parseArgs({ options, allowPositionals }));
  } catch (error) {
    return err(`${error instanceof Error ? error.message : String(error)} (--help tells more)`);
  }
}

/** Ends the command with a message. Exit codes: 1, an error; 2, a usage error. */
export function refuse(message: string, code: 1 | 2): void {
  printError(message);
  process.exitCode = code;
}
