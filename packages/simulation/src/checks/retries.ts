import type { Change, OutcomeRow } from "./changes.ts";
import type { Submission, Version } from "./state.ts";

interface Known {
  readonly submissions: ReadonlyMap<string, Submission>;
  readonly versions: ReadonlyMap<string, Version>;
}

interface Retry {
  readonly submission: string;
  readonly code: string;
  readonly token: string;
  /** The failures that it was requested for. */
  readonly meant: ReadonlyMap<Version, OutcomeRow>;
  /** What it has queued. */
  readonly taken: Set<Version>;
  /** As D1 counts them. */
  documents: number;
  queued: number;
}

/** The retries that D1 holds. */
export class Retries {
  readonly #retries = new Map<string, Retry>();
  /** The tokens of those that D1 held when a cancellation was requested that is answered by now. */
  readonly #canceled = new Set<string>();

  get size(): number {
    return this.#retries.size;
  }

  /**
   * What is wrong with a failed document that is queued again, or `null`: somebody asked for that, by its code or by
   * none. One that fails again is left to another retry.
   */
  queueFlaw(version: Version): string | null {
    const { key, submission, outcome } = version;
    const asked = ["", outcome?.code ?? ""].flatMap((code) => this.#retries.get(`${submission} ${code}`) ?? []);
    if (asked.length === 0) return `${key} failed as ${outcome?.code} and is retried, which nobody asked for`;
    const retry = asked.find(({ taken }) => !taken.has(version));
    retry?.taken.add(version);
    return retry === undefined ? `${key} failed again, and the retry that queued it before queues it once more` : null;
  }

  of(submission: string): Retry[] {
    return [...this.#retries.values()].filter((retry) => retry.submission === submission);
  }

  /** A request to cancel a submission goes out. Call what this gives when it is answered. */
  cancel(submission: string): () => void {
    const tokens = this.of(submission).map(({ token }) => token);
    return () => {
      for (const token of tokens) this.#canceled.add(token);
    };
  }

  /** Takes in a change. What is wrong with it, or `null`. */
  take(event: Change[1], change: Change, known: Known): string | null {
    const [submission, code, token] = [String(change[2]), String(change[3]), String(change[4])];
    const [documents, queued] = [Number(change[5]), Number(change[6])];
    const key = `${submission} ${code}`;
    const retry = this.#retries.get(key);
    if (event === "delete") {
      this.#retries.delete(key);
      return retry === undefined ? null : this.#endFlaw(retry, known);
    }
    if (retry === undefined) {
      const meant = failuresOf(submission, code, known);
      this.#retries.set(key, { submission, code, token, meant, taken: new Set(), documents, queued });
      return null;
    }
    const isLate = queued > retry.queued && this.#canceled.has(token);
    Object.assign(retry, { documents, queued });
    return isLate ? `a retry of ${key} queued documents after a cancellation of it was answered` : null;
  }

  /** What is wrong with the retries of a submission after a transaction, or `null`. */
  flawIn({ row }: Submission): string | null {
    const retries = this.of(row.id);
    if (retries.length === 0) return null;
    if (row.cancel_requested_at !== null) return `${row.id} is canceled, and has a retry`;
    const left = retries.reduce((sum, { documents, queued }) => sum + Math.max(0, documents - queued), 0);
    return left > row.failed
      ? `the retries of ${row.id} are to queue ${left} documents, and ${row.failed} failed`
      : null;
  }

  /** One that ends has queued all that it was requested for, unless it was canceled or one of every code replaces it. */
  #endFlaw({ submission, code, meant }: Retry, { submissions }: Known): string | null {
    if (submissions.get(submission)?.row.cancel_requested_at != null) return null;
    if (code !== "" && this.#retries.has(`${submission} `)) return null;
    for (const [version, outcome] of meant) {
      if (!version.deleted && version.outcome === outcome)
        return `the retry of ${submission} ${code} is over, and ${version.key} was not queued`;
    }
    return null;
  }
}

function failuresOf(submission: string, code: string, { versions }: Known): Map<Version, OutcomeRow> {
  const failed = [...versions.values()].flatMap((version) => {
    const { outcome } = version;
    const isMeant = outcome?.status === "failed" && (code === "" || outcome.code === code);
    return isMeant && version.submission === submission ? [[version, outcome] as const] : [];
  });
  return new Map(failed);
}
