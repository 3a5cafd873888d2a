import type { Change } from "./changes.ts";
import type { Retries } from "./retries.ts";
import type { Submission, VersionKey } from "./state.ts";

/** A request to resume that is not answered may take effect this long after it was sent: D1 commits late. */
const MAX_LATE_MS = 30 * 60_000;

/**
 * The pauses that people asked for, as they know them: one is in force from the answer to its request until
 * somebody sends a request to resume it, whatever D1 holds. A request without an answer says nothing.
 */
export class AskedPauses {
  readonly #since = new Map<string, number>();
  /** How often a scope was resumed: a pause that was asked for before that may be over when it is answered. */
  readonly #resumes = new Map<string, number>();
  /** Requests to resume that are not answered, by scope, with the time of each. */
  readonly #resuming = new Map<string, Set<{ readonly at: number }>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A request to pause goes out. Call what this gives when it is answered. */
  ask(scope: string): () => void {
    const resumes = this.#resumes.get(scope);
    const isDoubtful = this.#isBeingResumed(scope);
    return () => {
      if (isDoubtful) return;
      if (this.#resumes.get(scope) === resumes && !this.#since.has(scope)) this.#since.set(scope, this.#now());
    };
  }

  /** A request to resume goes out. Call what this gives when it is answered: until then it may end what is asked for meanwhile. */
  resume(scope: string): () => void {
    this.#resumes.set(scope, (this.#resumes.get(scope) ?? 0) + 1);
    this.#since.delete(scope);
    const resuming = this.#resuming.get(scope) ?? new Set();
    this.#resuming.set(scope, resuming);
    const one = { at: this.#now() };
    resuming.add(one);
    return () => void resuming.delete(one);
  }

  #isBeingResumed(scope: string): boolean {
    return [...(this.#resuming.get(scope) ?? [])].some(({ at }) => this.#now() - at < MAX_LATE_MS);
  }

  /**
   * What is wrong with a change of D1's pauses, or `null`. Only that of a submission that has ended, and is not retried,
   * may go by itself.
   */
  flawIn(
    change: Change,
    { submissions, retries }: { readonly submissions: ReadonlyMap<string, Submission>; readonly retries: Retries },
  ): string | null {
    const [, event, name, reason, until] = change;
    const scope = String(name);
    if (!this.#since.has(scope)) return null;
    if (event !== "delete") {
      if (reason === "requested" && until === null) return null;
      return `the pause of ${scope} that somebody asked for became one of ${reason}, until ${until}`;
    }
    const submission = scope.replace("submission:", "");
    const ended = submissions.get(submission)?.row.completed_at ?? null;
    if (ended === null || retries.of(submission).length > 0)
      return `the pause of ${scope} that somebody asked for is gone, and nobody resumed it`;
    this.#since.delete(scope);
    return null;
  }

  /** A pause that keeps a batch back, in force before `time`. */
  keepingBack(model: string, list: readonly VersionKey[], time: number): string | null {
    const submissions = list.map((key) => `submission:${key.slice(0, key.indexOf("\n"))}`);
    const scopes = new Set(["all", `model:${model}`, ...submissions]);
    for (const [scope, since] of this.#since) if (scopes.has(scope) && since < time) return scope;
    return null;
  }
}
