import type { Change, OutcomeRow } from "./changes.ts";
import type { Submission, Version } from "./state.ts";

interface Known {
  readonly submissions: ReadonlyMap<string, Submission>;
  readonly versions: ReadonlyMap<string, Version>;
}

/** The retries that D1 holds, with the failures that each was requested for. */
export class Retries {
  readonly #retries = new Map<string, ReadonlyMap<Version, OutcomeRow>>();

  get size(): number {
    return this.#retries.size;
  }

  /** What is wrong with a failed document that is queued again, or `null`: somebody asked for that, by its code or by none. */
  queueFlaw({ key, submission, outcome }: Version): string | null {
    if (["", outcome?.code ?? ""].some((code) => this.#retries.has(`${submission} ${code}`))) return null;
    return `${key} failed as ${outcome?.code} and is retried, which nobody asked for`;
  }

  /** Takes in a change. What is wrong with it, or `null`: a retry that ends has queued all that it was requested for. */
  take(event: Change[1], change: Change, { submissions, versions }: Known): string | null {
    const [submission, code] = [String(change[2]), String(change[3])];
    const key = `${submission} ${code}`;
    if (event === "insert") {
      const failed = [...versions.values()].flatMap((version) => {
        const { outcome } = version;
        const isMeant = outcome?.status === "failed" && (code === "" || outcome.code === code);
        return isMeant && version.submission === submission ? [[version, outcome] as const] : [];
      });
      this.#retries.set(key, new Map(failed));
    }
    if (event !== "delete") return null;
    const meant = this.#retries.get(key) ?? new Map<Version, OutcomeRow>();
    this.#retries.delete(key);
    if (submissions.get(submission)?.row.cancel_requested_at != null) return null;
    for (const [version, outcome] of meant) {
      if (!version.deleted && version.outcome === outcome)
        return `the retry of ${key} is over, and ${version.key} was not queued`;
    }
    return null;
  }
}
