import { SUBMIT_BURST_MS, SUBMIT_SPACING_MS } from "../limits.ts";

const MINUTE = 60_000;
/** Dispatches that may start within a minute. */
const MAX_A_MINUTE = Math.ceil((MINUTE + SUBMIT_BURST_MS) / SUBMIT_SPACING_MS);

interface Start {
  /** By D1's clock. */
  readonly at: number;
  /** When its Worker began, by the world's. */
  readonly begunAt: number;
}

/** When dispatches started, in the order of their transactions. All are of one model. */
export class SubmitRate {
  readonly #starts: Start[] = [];

  /**
   * What is wrong with a dispatch that starts at this time, or `null`. If D1's clock was set since the first Worker of
   * those counted began, the product cannot know how far apart they are.
   */
  flawAt(start: Start, clockSetSince: (time: number) => number): string | null {
    this.#starts.push(start);
    const counted = this.#starts.slice(-1 - MAX_A_MINUTE);
    const [first] = counted;
    if (first === undefined || counted.length <= MAX_A_MINUTE || start.at - first.at >= MINUTE) return null;
    if (clockSetSince(Math.min(...counted.map(({ begunAt }) => begunAt))) > 0) return null;
    return `${MAX_A_MINUTE + 1} dispatches started within ${start.at - first.at} ms`;
  }
}
