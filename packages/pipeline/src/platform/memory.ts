/** A payload is in memory as rows, as requests, and as JSON while it is sent. */
const PAYLOAD_COPIES = 4;
/** The limit in an isolate, whose 128 MB all its invocations share: two full jobs with their copies. */
export const MAX_ISOLATE_BYTES = 80_000_000;
/** An invocation that the platform ends never releases its memory. An invocation lasts at most 15 minutes. */
const MAX_HOLD_MS = 15 * 60_000;

/** Bytes of memory that a job's dispatch needs. */
export function dispatchBytes(payloadBytes: number): number {
  return payloadBytes * PAYLOAD_COPIES;
}

interface Holding {
  readonly bytes: number;
  readonly since: number;
}

/**
 * Limits the memory that the invocations of one isolate hold at a time. No invocation waits here for another: if the
 * platform ends that one, its promise never settles.
 */
export class MemoryLimit {
  readonly #limit: number;
  readonly #holdings = new Set<Holding>();

  constructor(limit: number = MAX_ISOLATE_BYTES) {
    this.#limit = limit;
  }

  /** Releases everything, as in a fresh isolate. */
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

  /**
   * Reserves bytes and returns a function that releases them; `null` if they are not free. A reservation above the
   * limit succeeds only alone.
   */
  hold(bytes: number, now: number): (() => void) | null {
    if (bytes > this.free(now) && this.#holdings.size > 0) return null;
    const holding = { bytes, since: now };
    this.#holdings.add(holding);
    return () => void this.#holdings.delete(holding);
  }
}
