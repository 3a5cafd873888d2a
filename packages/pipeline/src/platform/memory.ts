/** A payload is in memory as rows, as requests, and as JSON on its way. */
const PAYLOAD_COPIES = 4;
/** Of a Worker's 128 MB, which all invocations in its isolate share: two full jobs with their copies. */
export const MAX_ISOLATE_BYTES = 80_000_000;
/** An invocation that was ended from outside never releases what it holds. An invocation lasts 15 minutes at most. */
const MAX_HOLD_MS = 15 * 60_000;

/** Bytes that a job's dispatch takes. */
export function dispatchBytes(payloadBytes: number): number {
  return payloadBytes * PAYLOAD_COPIES;
}

interface Holding {
  readonly bytes: number;
  readonly since: number;
}

/**
 * Bounds what the invocations of one isolate hold in memory at once. Nobody waits here for another invocation: a
 * promise of one that is ended from outside would never be kept.
 */
export class MemoryLimit {
  readonly #limit: number;
  readonly #holdings = new Set<Holding>();

  constructor(limit: number = MAX_ISOLATE_BYTES) {
    this.#limit = limit;
  }

  /** Releases everything, as a fresh isolate has it. */
  clear(): void {
    this.#holdings.clear();
  }

  /** Bytes that are free at `now`, in milliseconds. */
  free(now: number): number {
    let free = this.#limit;
    for (const holding of this.#holdings) {
      if (now - holding.since > MAX_HOLD_MS) this.#holdings.delete(holding);
      else free -= holding.bytes;
    }
    return free;
  }

  /** Takes so many bytes and returns what releases them; `null`: they are not free. More than the limit fit alone. */
  hold(bytes: number, now: number): (() => void) | null {
    if (bytes > this.free(now) && this.#holdings.size > 0) return null;
    const holding = { bytes, since: now };
    this.#holdings.add(holding);
    return () => void this.#holdings.delete(holding);
  }
}
