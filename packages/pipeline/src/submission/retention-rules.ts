import type { DatabaseLevel } from "@sluice/core";
import { MESSAGE_LIFE_MS } from "./lifetimes.ts";

/** Milliseconds for which things are kept after they ended. */
export interface RetentionSettings {
  readonly texts: number;
  /** Hidden and failed versions, parts, jobs, submissions without documents, and quarantined messages. */
  readonly history: number;
  /** The newest version that succeeded; `null`: forever. */
  readonly scores: number | null;
}

/** The variables of the poller's wrangler.jsonc, in days. Fractions are allowed. */
export interface RetentionVariables {
  readonly RETAIN_TEXTS_DAYS: string;
  readonly RETAIN_HISTORY_DAYS: string;
  /** Empty: scores are kept forever. */
  readonly RETAIN_SCORES_DAYS: string;
}

/** Maximum statements of retention in one run of the poller. */
export const RETENTION_STATEMENTS = 180;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Later than every time in the database. */
const ANY_AGE = Number.MAX_SAFE_INTEGER;

/** Jobs are kept at least this long even under pressure: whoever follows the feed reads them there. */
const FEED_LIFE_MS = DAY_MS;

/** A pass over history reads every version and submission, one over texts only rows with texts. */
const PASS_MS = { texts: 6 * HOUR_MS, history: DAY_MS } as const;
const PRESSED_PASS_MS = { texts: HOUR_MS / 4, history: HOUR_MS } as const;

/** Reads the settings from the poller's variables. Throws an error that names the variable if one is invalid. */
export function retentionSettings(variables: RetentionVariables): RetentionSettings {
  const { RETAIN_TEXTS_DAYS: texts, RETAIN_HISTORY_DAYS: history, RETAIN_SCORES_DAYS: scores } = variables;
  return {
    texts: days("RETAIN_TEXTS_DAYS", texts),
    history: days("RETAIN_HISTORY_DAYS", history),
    scores: scores === "" ? null : days("RETAIN_SCORES_DAYS", scores),
  };
}

function days(name: string, text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value <= 36_500) return value * DAY_MS;
  throw new Error(
    `The variable ${name} must be a number of days from 0 to 36500, such as 7 or 0.5, but is ${JSON.stringify(text)}.`,
  );
}

/** Things that ended before these times are deleted. Milliseconds since the epoch. */
export interface RetentionLimits {
  /** Texts of documents that succeeded or were canceled. */
  readonly texts: number;
  /** Versions that failed or were canceled, unless a newer one hides them. */
  readonly versions: number;
  /** Versions that a newer one hides. */
  readonly hidden: number;
  /** Parts outlive every message, so that a repeated message finds its part, and the texts of their documents. */
  readonly parts: number;
  readonly jobs: number;
  /** A submission outlives its messages too. */
  readonly submissions: number;
  readonly malformed: number;
  /** The newest version that succeeded; `null`: never. */
  readonly scores: number | null;
}

/** Whether retention ignores age. */
export function isUnderPressure(level: DatabaseLevel): boolean {
  return level === "pressure" || level === "full";
}

/** What is old enough to be deleted. */
export function retentionLimits(settings: RetentionSettings, level: DatabaseLevel, now: number): RetentionLimits {
  const { texts, history, scores } = settings;
  const isPressed = isUnderPressure(level);
  return {
    texts: isPressed ? ANY_AGE : now - texts,
    versions: now - history,
    hidden: isPressed ? ANY_AGE : now - history,
    parts: now - (isPressed ? MESSAGE_LIFE_MS : Math.max(texts, history, MESSAGE_LIFE_MS)),
    jobs: now - (isPressed ? Math.min(history, FEED_LIFE_MS) : history),
    submissions: now - (isPressed ? MESSAGE_LIFE_MS : Math.max(history, MESSAGE_LIFE_MS)),
    malformed: now - history,
    scores: scores === null ? null : now - scores,
  };
}

/**
 * Milliseconds after which a pass begins again at the oldest row. In between, it looks only at rows that have become
 * old enough. Rows that a pass left, because a document had not ended, are found by the next one.
 */
export function passInterval(
  { texts, history, scores }: RetentionSettings,
  level: DatabaseLevel,
  kind: "texts" | "history",
): number {
  const pause = isUnderPressure(level) ? PRESSED_PASS_MS : PASS_MS;
  return Math.min(pause[kind], texts, history, scores ?? Number.POSITIVE_INFINITY);
}

/** A row of `contexts` with the state of its documents. */
export interface TextsRow {
  readonly id: number;
  /** Documents that have not ended. */
  readonly open: number;
  readonly failed: number;
  /** Failed documents that a retry in progress is about to queue. */
  readonly retried: number;
  /** When the last of them ended, and when the newest of its parts was recorded; 0 if none is left. */
  readonly endedAt: number;
  readonly recordedAt: number;
  /** Documents that still have texts, if it was rewritten to them; `null` if all have. */
  readonly kept: number | null;
}

/** What happens to a row of texts. `young`: it is too young, and so are the rows after it. */
export type TextsDecision = "delete" | "rewrite" | "keep" | "young";

/**
 * Decides about a row of texts. Failed documents keep their texts for a retry, and the row is rewritten to them.
 * `failedToo`: only a retry in progress keeps them.
 */
export function decideAboutTexts(row: TextsRow, before: number, failedToo: boolean): TextsDecision {
  if (row.recordedAt >= before) return "young";
  if (row.open > 0 || row.endedAt >= before) return "keep";
  if (row.failed === 0 || (failedToo && row.retried === 0)) return "delete";
  return row.failed < (row.kept ?? Number.POSITIVE_INFINITY) ? "rewrite" : "keep";
}
