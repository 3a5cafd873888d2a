import type { SluiceError } from "./errors.ts";

/** The first delay and the longest delay that the client chooses, in milliseconds. */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;
/** Longest delay accepted from a server, in milliseconds. Beyond it the user should retry later. */
const MAX_RETRY_AFTER_MS = 120_000;
/**
 * Maximum milliseconds, in total, to wait for an earlier push with the same key. The server asks for a short delay,
 * because most pushes end soon. An interrupted push counts as running for 60 s.
 */
const MAX_CONFLICT_MS = 180_000;

/** The delays so far in one call. */
export interface Waits {
  /** Attempts that failed with a transient error. */
  readonly failures: number;
  /** Milliseconds waited because of `409`. */
  readonly conflict: number;
}

export const NO_WAITS: Waits = { failures: 0, conflict: 0 };

/**
 * Returns the milliseconds to wait before a retry, or `null` if a retry cannot help. The delay doubles from half a
 * second, with jitter, and is never shorter than the server asks for. `random` is in [0, 1).
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

/** Whether a retry may succeed. */
export function mayPass({ status, code, retryAfter }: SluiceError): boolean {
  if (status === 409) return code === "conflict" && retryAfter !== null;
  // Without a status, the answer was not even HTTP.
  if (code === "unreachable" || (code === "unreadable" && status === null)) return false;
  return status === null || status === 408 || status === 429 || status >= 500;
}

export function addWait(waits: Waits, error: SluiceError, wait: number): Waits {
  if (error.status === 409) return { ...waits, conflict: waits.conflict + wait };
  return { ...waits, failures: waits.failures + 1 };
}
