import type { Change, OutcomeRow } from "./changes.ts";
import type { Deletions } from "./deletions.ts";
import type { Submission, Version } from "./state.ts";

interface Known {
  readonly submissions: ReadonlyMap<string, Submission>;
  readonly versions: ReadonlyMap<string, Version>;
  readonly deletions: Pick<Deletions, "covers">;
}

interface Retry {
  readonly submission: string;
  readonly code: string;
  readonly token: string;
  /** The failures that it must queue again. */
  readonly meant: ReadonlyMap<Version, OutcomeRow>;
  /** The versions that it has queued. */
  readonly taken: Set<Version>;
  /** The number of documents in D1's row. */
  documents: number;
  queued: number;
}

/** The retries in D1. */
export class Retries {
  readonly #retries = new Map<string, Retry>();
  /** The tokens of retries that existed when a now answered cancellation was requested. */
  readonly #canceled = new Set<string>();

  get size(): number {
    return this.#retries.size;
  }

  /**
   * Returns the flaw in queuing a failed document again, or `null`. A retry must have been requested, for its code or
   * for all codes. A document that fails again needs another retry.
   */
  queueFlaw(version: Version): string | null {
    const { key, submission, outcome } = version;
    const asked = ["", outcome?.code ?? ""].flatMap((code) => this.#retries.get(`${submission} ${code}`) ?? []);
    if (asked.length === 0) return `${key} failed as ${outcome?.code} and is retried without a request`;
    const retry = asked.find(({ taken }) => !taken.has(version));
    retry?.taken.add(version);
    return retry === undefined ? `${key} failed again, and the same retry queues it once more` : null;
  }

  of(submission: string): Retry[] {
    return [...this.#retries.values()].filter((retry) => retry.submission === submission);
  }

  /** Records that a cancellation is requested. Call the returned function when it is answered. */
  cancel(submission: string): () => void {
    const tokens = this.of(submission).map(({ token }) => token);
    return () => {
      for (const token of tokens) this.#canceled.add(token);
    };
  }

  /** Applies a change. Returns its flaw, or `null`. */
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

  /** Returns the flaw in the retries of a submission after a transaction, or `null`. */
  flawIn({ row }: Submission): string | null {
    const retries = this.of(row.id);
    if (retries.length === 0) return null;
    if (row.cancel_requested_at !== null) return `${row.id} is canceled, but has a retry`;
    const left = retries.reduce((sum, { documents, queued }) => sum + Math.max(0, documents - queued), 0);
    return left > row.failed
      ? `the retries of ${row.id} have ${left} documents left to queue, but ${row.failed} failed`
      : null;
  }

  /**
   * Checks that a retry that ends has queued everything it was requested for, unless it was canceled, its collection was
   * deleted, or a retry of all codes replaces it.
   */
  #endFlaw({ submission, code, meant }: Retry, { submissions, deletions }: Known): string | null {
    const known = submissions.get(submission);
    if (known !== undefined && (known.row.cancel_requested_at !== null || deletions.covers(known))) return null;
    if (code !== "" && this.#retries.has(`${submission} `)) return null;
    for (const [version, outcome] of meant) {
      if (!version.deleted && version.outcome === outcome)
        return `the retry of ${submission} ${code} is over, but ${version.key} was not queued`;
    }
    return null;
  }
}

function failuresOf(submission: string, code: string, { versions }: Known): Map<Version, OutcomeRow> {
  const failed = [...versions.values()].flatMap((version) => {
    const { outcome } = version;
    // Under pressure, retention may have deleted the texts of failed documents.
    const isMeant = version.hasTexts && outcome?.status === "failed" && (code === "" || outcome.code === code);
    return isMeant && version.submission === submission ? [[version, outcome] as const] : [];
  });
  return new Map(failed);
}
