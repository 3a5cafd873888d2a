/**
 * `fetch`, or a replacement: that of a service binding (`(input, init) => env.SLUICE.fetch(input, init)`), or of a
 * test.
 */
export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

/** The I/O that the client uses. */
export interface Io {
  readonly fetch: Fetch;
  /** Waits for milliseconds. Rejects with the signal's reason when that aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly uuid: () => string;
}

export const webIo: Io = {
  // Workers refuse a `fetch` that is called as a method of another object.
  fetch: (input, init) => globalThis.fetch(input, init),
  sleep,
  now: () => Date.now(),
  random: () => Math.random(),
  uuid: () => crypto.randomUUID(),
};

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
