import { randomBytes } from "node:crypto";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { printError, shellCommand, shellWord } from "@sluice/client/terminal";
import { err, ok, type Result } from "@sluice/core";
import { keepApiKey } from "./api-key.ts";
import { DEFAULT_STATE, readSettings, type Settings } from "./settings.ts";
import { prepareState } from "./state.ts";

/** The prefix of every command of this workspace. */
export const PNPM = "npx -y pnpm@12.4.2";

/** The user's directory. pnpm itself runs scripts in the workspace folder. */
export function callerFolder(): string {
  return process.env["INIT_CWD"] ?? process.cwd();
}

/** Returns the command's settings, or one error per line. */
export function commandSettings(tickSeconds: number): Result<Settings, string> {
  const settings = readSettings(process.env, callerFolder(), tickSeconds);
  return settings.ok ? settings : err(settings.error.join("\n"));
}

/** Returns the key to use: the given one, else the one stored with the state. Fails if the state folder is unusable. */
export function commandKey(settings: Settings): Result<string, string> {
  const prepared = prepareState(settings.state);
  if (!prepared.ok) return prepared;
  return ok(settings.apiKey ?? keepApiKey(settings.state, randomBytes(24)));
}

/** A command of this workspace as the user would type it for this state. */
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

/** Returns the parsed arguments, or a one-line error. */
export function parseArguments<Options extends ParseArgsOptionsConfig>(options: Options, allowPositionals: boolean) {
  try {
    return ok(parseArgs({ options, allowPositionals }));
  } catch (error) {
    return err(`${error instanceof Error ? error.message : String(error)} (see --help)`);
  }
}

/** Ends the command with a message. Exit codes: 1, an error; 2, a usage error. */
export function refuse(message: string, code: 1 | 2): void {
  printError(message);
  process.exitCode = code;
}
