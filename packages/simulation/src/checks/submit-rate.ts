import { SUBMIT_BURST_MS, SUBMIT_SPACING_MS } from "../limits.ts";

const MINUTE = 60_000;
/** Attempts that may start within a minute. */
const MAX_A_MINUTE = Math.ceil((MINUTE + SUBMIT_BURST_MS) / SUBMIT_SPACING_MS);

/** When attempts started, in the order of their transactions. All are of one model. */
export class SubmitRate {
  readonly #starts: number[] = [];

  /** What is wrong with an attempt that starts at this time by its Worker's clock, or `null`. */
  flawAt(startedAt: number): string | null {
    this.#starts.push(startedAt);
    const first = this.#starts.at(-1 - MAX_A_MINUTE) ?? -Infinity;
    if (startedAt - first >= MINUTE) return null;
    return `${MAX_A_MINUTE + 1} attempts started within ${startedAt - first} ms`;
  }
}
