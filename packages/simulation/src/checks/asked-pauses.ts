import type { Change } from "./changes.ts";
import type { Retries } from "./retries.ts";
import type { Submission, VersionKey } from "./state.ts";

/** The longest time after which an unanswered resume may take effect, because D1 may commit late. */
const MAX_LATE_MS = 30 * 60_000;

/**
 * The pauses that clients requested, as the clients know them. A pause is in force from the answer to its request until
 * a client sends a resume, whatever D1 holds. An unanswered request proves nothing.
 */
export class AskedPauses {
  readonly #since = new Map<string, number>();
  /** How often each scope was resumed. A pause requested before a resume may be over when it is answered. */
  readonly #resumes = new Map<string, number>();
  /** Unanswered resumes by scope, with their times. */
  readonly #resuming = new Map<string, Set<{ readonly at: number }>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Records that a pause is requested. Call the returned function when it is answered. */
  ask(scope: string): () => void {
    const resumes = this.#resumes.get(scope);
    const isUncertain = this.#isBeingResumed(scope);
    return () => {
      if (isUncertain) return;
      if (this.#resumes.get(scope) === resumes && !this.#since.has(scope)) this.#since.set(scope, this.#now());
    };
  }

  /**
   * Records that a resume is requested. Call the returned function when it is answered. Until then it may end pauses
   * that are requested later.
   */
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
   * Returns the flaw in a change of D1's pauses, or `null`. Only the pause of a submission that has ended and is not
   * retried may be removed without a resume.
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
      return `the requested pause of ${scope} became one of ${reason}, until ${until}`;
    }
    const submission = scope.replace("submission:", "");
    const ended = submissions.get(submission)?.row.completed_at ?? null;
    if (ended === null || retries.of(submission).length > 0)
      return `the requested pause of ${scope} is gone, but was not resumed`;
    this.#since.delete(scope);
    return null;
  }

  /** Returns the scope of a pause that blocks a batch and was in force before `time`. */
  keepingBack(model: string, list: readonly VersionKey[], time: number): string | null {
    const submissions = list.map((key) => `submission:${key.slice(0, key.indexOf("\n"))}`);
    const scopes = new Set(["all", `model:${model}`, ...submissions]);
    for (const [scope, since] of this.#since) if (scopes.has(scope) && since < time) return scope;
    return null;
  }
}
