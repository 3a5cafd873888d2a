import { join, resolve } from "node:path";
import { err, ok, type Result } from "@sluice/core";
import { MAX_D1_BYTES } from "@sluice/pipeline/platform/database-level.ts";
import { BLOCKED_PORTS } from "./blocked-ports.ts";
import { localAiModes, ROOT, type LocalAiMode } from "./configuration.ts";

/** The user's settings of the local stack. */
export interface Settings {
  /** 0 picks a free port. */
  readonly port: number;
  /** The absolute path of the state folder. */
  readonly state: string;
  /** Seconds between poller runs. */
  readonly tickSeconds: number;
  readonly localAi: LocalAiMode;
  /** Whether the stand-in reports the end of batches, so that scores need not wait for the next poller run. */
  readonly events: boolean;
  /** The variables of the poller that say how long things are kept. Those that are not set have the deployed values. */
  readonly retention: Readonly<Record<string, string>>;
  /** `null`: a key is created and stored with the state. */
  readonly apiKey: string | null;
  /** The size of the database at which nothing more is accepted; `null`: as deployed. */
  readonly maxDatabaseBytes: number | null;
}

export const DEFAULT_PORT = 8787;
export const DEFAULT_STATE = join(ROOT, ".sluice");
/** The poller's variables for retention, in days. Each is set by a variable with `SLUICE_` before its name. */
const RETENTION_VARIABLES = ["RETAIN_TEXTS_DAYS", "RETAIN_HISTORY_DAYS", "RETAIN_SCORES_DAYS"] as const;
/** As for the poller: a hundred years. */
const MAX_RETAINED_DAYS = 36_500;
/** The longest interval that makes sense for the poller: one hour. */
const MAX_TICK_SECONDS = 3_600;

/** An empty database has about half of this. */
const MIN_DATABASE_BYTES = 1_000_000;

/** The environment variables of `dev` and `demo`, for their `--help`. */
export function describeEnvironment(tickSeconds: number): string {
  return `Environment:
  SLUICE_PORT          the port: 0–65535, 0 = any free one           (default ${DEFAULT_PORT})
  SLUICE_STATE         the folder for all data                       (default .sluice)
  SLUICE_TICK_SECONDS  seconds between poller runs: 1–${MAX_TICK_SECONDS}           (default ${tickSeconds})
  SLUICE_LOCAL_AI      how to score: minilm (a real model), lexical (shared
                       words), instant (constant work)               (default minilm)
  SLUICE_EVENTS        on: the poller learns of a batch's end at once;
                       off: the next poller run finds it             (default on)
  SLUICE_RETAIN_TEXTS_DAYS, SLUICE_RETAIN_HISTORY_DAYS,
  SLUICE_RETAIN_SCORES_DAYS
                       how long to keep texts, history and scores,
                       such as 0.01                                  (default 7, 30, forever)
  SLUICE_API_KEY       the API key                                   (default: one is created and stored)
  SLUICE_MAX_DATABASE_BYTES
                       the size that the database must stay below    (default 9500000000)`;
}

/**
 * Reads the settings from the environment. Returns one error per line. A relative SLUICE_STATE starts at `folder`, the
 * user's directory.
 */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
  tickSeconds: number,
): Result<Settings, string[]> {
  const errors: string[] = [];
  const number = (name: string, fallback: number, min: number, max: number): number => {
    const text = env[name] ?? "";
    if (text === "") return fallback;
    const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    errors.push(`${name} must be a whole number from ${min} to ${max}, got ${JSON.stringify(text)}`);
    return fallback;
  };
  const port = number("SLUICE_PORT", DEFAULT_PORT, 0, 65_535);
  if (BLOCKED_PORTS.has(port)) {
    errors.push(
      `SLUICE_PORT must not be ${port}: fetch and browsers block this port, so nothing could reach Sluice there`,
    );
  }
  const tick = number("SLUICE_TICK_SECONDS", tickSeconds, 1, MAX_TICK_SECONDS);

  const modeText = env["SLUICE_LOCAL_AI"] ?? "";
  const mode = localAiModes.find((candidate) => candidate === (modeText === "" ? "minilm" : modeText));
  if (mode === undefined) {
    errors.push(`SLUICE_LOCAL_AI must be one of ${localAiModes.join(", ")}, got ${JSON.stringify(modeText)}`);
  }
  const eventsText = env["SLUICE_EVENTS"] ?? "";
  if (!["", "on", "off"].includes(eventsText)) {
    errors.push(`SLUICE_EVENTS must be on or off, got ${JSON.stringify(eventsText)}`);
  }
  const retention: Record<string, string> = {};
  for (const name of RETENTION_VARIABLES) {
    const text = env[`SLUICE_${name}`] ?? "";
    if (text === "") continue;
    if (!/^\d+(\.\d+)?$/.test(text) || Number(text) > MAX_RETAINED_DAYS) {
      errors.push(
        `SLUICE_${name} must be a number of days from 0 to ${MAX_RETAINED_DAYS}, such as 7 or 0.5, got ${JSON.stringify(text)}`,
      );
    }
    retention[name] = text;
  }
  const apiKey = env["SLUICE_API_KEY"] ?? "";
  // The message does not contain the key: even an invalid one may be secret.
  if (!/^[\x21-\x7e]{0,256}$/.test(apiKey)) {
    errors.push("SLUICE_API_KEY must be 1 to 256 printable ASCII characters without spaces");
  }
  const sizeText = env["SLUICE_MAX_DATABASE_BYTES"] ?? "";
  const size = /^\d{1,11}$/.test(sizeText) ? Number(sizeText) : Number.NaN;
  if (sizeText !== "" && !(size >= MIN_DATABASE_BYTES && size <= MAX_D1_BYTES)) {
    const range = `a whole number from ${MIN_DATABASE_BYTES} to ${MAX_D1_BYTES}`;
    errors.push(`SLUICE_MAX_DATABASE_BYTES must be ${range}, got ${JSON.stringify(sizeText)}`);
  }
  const state = env["SLUICE_STATE"] ?? "";
  if (errors.length > 0 || mode === undefined) return err(errors);
  return ok({
    port,
    state: state === "" ? DEFAULT_STATE : resolve(folder, state),
    tickSeconds: tick,
    localAi: mode,
    events: eventsText !== "off",
    retention,
    apiKey: apiKey === "" ? null : apiKey,
    maxDatabaseBytes: sizeText === "" ? null : size,
  });
}
