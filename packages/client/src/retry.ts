import type { SluiceError } from "./errors.ts";

/** Milliseconds: the first wait, and the longest that the client decides by itself. */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;
/** A server that asks for more is better come back to by hand. */
const MAX_RETRY_AFTER_MS = 120_000;
/**
 * For how long a push with the same key is waited for, all waits together. The server asks to look again
 * soon, since most are over soon; one that broke off without a word counts as running for 60 s.
 */
const MAX_CONFLICT_MS = 180_000;

/** What was waited for already, in one call. */
export interface Waits {
  /** Tries that failed for a reason that may pass. */
  readonly failures: number;
  /** Milliseconds for `409`. */
  readonly conflict: number;
}

export const NO_WAITS: Waits = { failures: 0, conflict: 0 };

/**
 * Milliseconds to wait before the same is tried again, or `null` where that would not help: doubling
 * from half a second, with jitter, and never less than the server asks for. `random` is in [0, 1).
 */
export function waitBeforeRetry(error: SluiceError, waits: Waits, retries: number, random: number): number | null {
  const asked = error.retryAfter === null ? 0 : error.retryAfter * 1_000;
  const jitter = 0.5 + random / 2;
  if (error.status === 409) {
    if (!mayPass(error)) return null;
    const wait = Math.max(asked, 1_000) + FIRST_WAIT_MS * jitter;
    return waits.conflict + wait > MAX_CONFLICT_MS ? null : wait;
  }
  if (!mayPass(error) || waits.failures >= retries || asked > MAX_RETRY_AFTER_MS) return null;
  return Math.max(asked, Math.min(FIRST_WAIT_MS * 2 ** waits.failures, MAX_WAIT_MS) * jitter);
}

/** Whether the same may succeed another time. */
export function mayPass({ status, code, retryAfter }: SluiceError): boolean {
  if (status === 409) return code === "conflict" && retryAfter !== null;
  // Without a status, an answer was not even HTTP.
  if (code === "unreachable" || (code === "unreadable" && status === null)) return false;
  return status === null || status === 408 || status === 429 || status >= 500;
}

export function addWait(waits: Waits, error: SluiceError, wait: number): Waits {
  if (error.status === 409) return { ...waits, conflict: waits.conflict + wait };
  return { ...waits, failures: waits.failures + 1 };
}
