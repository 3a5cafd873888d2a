import { SUBMIT_BURST_MS, SUBMIT_SPACING_MS } from "../limits.ts";

const MINUTE = 60_000;
/** Maximum dispatches that start within a minute. */
const MAX_A_MINUTE = Math.ceil((MINUTE + SUBMIT_BURST_MS) / SUBMIT_SPACING_MS);

interface Start {
  /** By D1's clock. */
  readonly at: number;
  /** When its Worker started, in world time. */
  readonly workerStartedAt: number;
}

/** The start times of dispatches in the order of their transactions. All are of one model. */
export class SubmitRate {
  readonly #starts: Start[] = [];

  /**
   * Returns the flaw in a dispatch that starts at this time, or `null`. If D1's clock was adjusted since the first
   * counted Worker started, the product cannot know how far apart the dispatches are.
   */
  flawAt(start: Start, clockSetSince: (time: number) => number): string | null {
    this.#starts.push(start);
    const counted = this.#starts.slice(-1 - MAX_A_MINUTE);
    const [first] = counted;
    if (first === undefined || counted.length <= MAX_A_MINUTE || start.at - first.at >= MINUTE) return null;
    if (clockSetSince(Math.min(...counted.map(({ workerStartedAt }) => workerStartedAt))) > 0) return null;
    return `${MAX_A_MINUTE + 1} dispatches started within ${start.at - first.at} ms`;
  }
}
