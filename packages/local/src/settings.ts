import { join, resolve } from "node:path";
import { err, ok, type Result } from "@sluice/core";
import { BLOCKED_PORTS } from "./blocked-ports.ts";
import { localAiModes, ROOT, type LocalAiMode } from "./configuration.ts";

/** How a person wants the local stack. */
export interface Settings {
  /** 0: any free one. */
  readonly port: number;
  /** The folder that keeps everything, absolute. */
  readonly state: string;
  /** Seconds from one run of the poller to the next. */
  readonly tickSeconds: number;
  readonly localAi: LocalAiMode;
  /** Whether the stand-in reports the ends of batches, so that scores do not wait for the next run of the poller. */
  readonly events: boolean;
  /** `null`: one is made and kept with the state. */
  readonly apiKey: string | null;
}

export const DEFAULT_PORT = 8787;
export const DEFAULT_STATE = join(ROOT, ".sluice");
/** The cron of the deployed poller cannot run less often than is useful, nor is an hour's wait. */
const MAX_TICK_SECONDS = 3_600;

/** The environment of `dev` and `demo`, for their `--help`. */
export function describeEnvironment(tickSeconds: number): string {
  return `Environment:
  SLUICE_PORT          where it listens: 0–65535, 0 = any free one   (default ${DEFAULT_PORT})
  SLUICE_STATE         the folder that keeps everything              (default .sluice)
  SLUICE_TICK_SECONDS  seconds between runs of the poller: 1–${MAX_TICK_SECONDS}     (default ${tickSeconds})
  SLUICE_LOCAL_AI      what scores: minilm (a real model), lexical (words
                       in common), instant (constant work)           (default minilm)
  SLUICE_EVENTS        on: a batch's end is reported to the poller at once;
                       off: the poller's next run finds it           (default on)
  SLUICE_API_KEY       the key to accept                             (default: one is made and kept)`;
}

/**
 * Reads the settings from the environment; the errors are a line each. `folder` is where the person
 * stands: a relative SLUICE_STATE starts there.
 */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
  tickSeconds: number,
): Result<Settings, string[]> {
  const errors: string[] = [];
  const number = (name: string, fallback: number, least: number, most: number): number => {
    const text = env[name] ?? "";
    if (text === "") return fallback;
    const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    errors.push(`${name} must be a whole number from ${least} to ${most}: it is ${JSON.stringify(text)}`);
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
    errors.push(`SLUICE_LOCAL_AI must be one of ${localAiModes.join(", ")}: it is ${JSON.stringify(modeText)}`);
  }
  const eventsText = env["SLUICE_EVENTS"] ?? "";
  if (!["", "on", "off"].includes(eventsText)) {
    errors.push(`SLUICE_EVENTS must be on or off: it is ${JSON.stringify(eventsText)}`);
  }
  const apiKey = env["SLUICE_API_KEY"] ?? "";
  // The key itself stays out of the message: it is a secret even where it is wrong.
  if (!/^[\x21-\x7e]{0,256}$/.test(apiKey)) {
    errors.push("SLUICE_API_KEY must be 1 to 256 characters of printable ASCII without spaces");
  }
  const state = env["SLUICE_STATE"] ?? "";
  if (errors.length > 0 || mode === undefined) return err(errors);
  return ok({
    port,
    state: state === "" ? DEFAULT_STATE : resolve(folder, state),
    tickSeconds: tick,
    localAi: mode,
    events: eventsText !== "off",
    apiKey: apiKey === "" ? null : apiKey,
  });
}
