import { RUN_INTERVAL_MS } from "../run-interval.ts";
import { MAX_CLOCK_SKEW } from "../world/caller.ts";
import type { Change } from "./changes.ts";
import type { Job, VersionKey } from "./state.ts";

interface KnownPause {
  /** When it was set, in world time. */
  readonly since: number;
  readonly until: number | null;
  readonly reason: string;
}

/** The pauses in D1, by scope. */
export class Pauses {
  readonly #pauses = new Map<string, KnownPause>();
  /** By D1's clock, and by the world's. */
  readonly #now: () => number;
  readonly #worldNow: () => number;

  constructor(now: () => number, worldNow: () => number) {
    this.#now = now;
    this.#worldNow = worldNow;
  }

  take(event: Change[1], change: Change): void {
    const scope = String(change[2]);
    if (event === "delete") {
      this.#pauses.delete(scope);
      return;
    }
    const now = this.#now();
    const known = this.#pauses.get(scope);
    // A pause that had expired by any Worker's clock and is set again is a new one.
    const isOver = known !== undefined && known.until !== null && known.until <= now + MAX_CLOCK_SKEW;
    const since = known === undefined || isOver ? this.#worldNow() : known.since;
    this.#pauses.set(scope, { since, reason: String(change[3]), until: change[4] as number | null });
  }

  /** The scopes of requested pauses. */
  get requested(): string[] {
    return [...this.#pauses].filter(([, { reason }]) => reason === "requested").map(([scope]) => scope);
  }

  /** Returns when the pause of a scope expires: `Infinity` if it does not, `null` if there is none. */
  endOf(scope: string): number | null {
    const pause = this.#pauses.get(scope);
    return pause === undefined ? null : (pause.until ?? Infinity);
  }

  /** Returns when the poller releases the jobs that the pause of a scope holds, unless it is resumed earlier. */
  releaseOf(scope: string): number {
    return (this.endOf(scope) ?? Infinity) + RUN_INTERVAL_MS;
  }

  /** Checks that every held job has a pause that will release it. Otherwise it would never be due again. */
  flawIn(jobs: ReadonlyMap<string, Job>): string | null {
    for (const { row } of jobs.values()) {
      if (row.paused_by !== null && !this.#pauses.has(row.paused_by))
        return `${row.id} is held by the pause of ${row.paused_by}, which does not exist`;
    }
    return null;
  }

  /** Returns the scope of a pause that blocks a batch and was set before the world time `since`. */
  keepingBack(model: string, list: readonly VersionKey[], since: number): string | null {
    for (const [scope, pause] of this.#pauses) {
      const submission = scope.startsWith("submission:") ? `${scope.slice("submission:".length)}\n` : null;
      const isAbout =
        submission === null
          ? scope === "all" || scope === `model:${model}`
          : list.some((key) => key.startsWith(submission));
      // A Worker whose clock is ahead sees the end of a pause earlier.
      const runs = pause.until === null || pause.until > this.#now() + MAX_CLOCK_SKEW;
      if (isAbout && runs && pause.since < since) return `${scope}, ${pause.reason}`;
    }
    return null;
  }
}
