import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { err, ok, type Result } from "@sluice/core";
import { ROOT } from "@sluice/local/configuration";
import { WRANGLER } from "@sluice/local/wrangler";
import type { Failure } from "./failures.ts";

/** The outcome of a command that succeeded. */
export interface Output {
  /** What it printed on stdout. */
  readonly text: string;
  /** Where a deployed Worker can be reached, and its other triggers. */
  readonly targets: readonly string[];
}

/** Runs wrangler. A failed command is a value: what follows depends on the command. */
export type Wrangler = (args: readonly string[]) => Promise<Result<Output, Failure>>;

/** Runs the wrangler of this workspace, or another script, with the user's login, in the root of the checkout. */
export function wranglerCommand(script = WRANGLER): Wrangler {
  return async (args) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-wrangler-"));
    try {
      const report = join(folder, "report.ndjson");
      const child = spawn(process.execPath, ["--no-warnings", script, ...args], {
        cwd: ROOT,
        stdio: ["ignore", "pipe", "pipe"],
        env: environment(report),
      });
      const printed = { stdout: "", stderr: "" };
      child.stdout.setEncoding("utf8").on("data", (text: string) => (printed.stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (printed.stderr += text));
      const [code] = (await once(child, "close")) as [number | null];
      const entries = readReport(report);
      if (code === 0) return ok({ text: stripVTControlCharacters(printed.stdout), targets: targetsOf(entries) });
      const text = stripVTControlCharacters(`${printed.stderr}\n${printed.stdout}`);
      return err({ args, code: codeOf(entries) ?? codeIn(text), text });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/** Without prompts and telemetry. wrangler's settings for other projects do not apply here. */
function environment(report: string): NodeJS.ProcessEnv {
  const { CLOUDFLARE_ENV: _, WRANGLER_LOG: _log, FORCE_COLOR: _color, ...env } = process.env;
  return {
    ...env,
    CI: "1",
    NO_COLOR: "1",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    WRANGLER_WRITE_LOGS: "false",
    // Where wrangler reports as JSON what it deployed, and the code of a failure.
    WRANGLER_OUTPUT_FILE_PATH: report,
  };
}

interface Entry {
  readonly type?: unknown;
  readonly targets?: unknown;
  readonly code?: unknown;
}

function readReport(path: string): Entry[] {
  let text;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry);
}

function targetsOf(entries: readonly Entry[]): string[] {
  const targets = entries.find(({ type }) => type === "deploy")?.targets;
  return Array.isArray(targets) ? targets.map(String) : [];
}

function codeOf(entries: readonly Entry[]): number | null {
  const code = entries.find(({ type }) => type === "command-failed")?.code;
  return typeof code === "number" ? code : null;
}

function codeIn(text: string): number | null {
  const code = /\[code: (\d+)\]/.exec(text)?.[1];
  return code === undefined ? null : Number(code);
}
