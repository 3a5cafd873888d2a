/** The newest size of a database that D1 has reported. The databases that one isolate opens may share it. */
export interface KnownSize {
  /** `null`: unknown. */
  bytes: number | null;
  /** When it was reported, in milliseconds by the isolate's clock. */
  at: number;
}

/** A result of D1, or of a stand-in that reports nothing. */
interface Reported {
  readonly meta?: Pick<D1Result["meta"], "rows_read" | "rows_written" | "size_after">;
}

/**
 * Rows that D1 reported to this isolate, through any of its databases, since they were last taken. The answers to `raw`
 * and `first` do not report any.
 */
let untaken = { read: 0, written: 0 };

/** Returns the rows that D1 reported as read and written since the last call: each row is returned once. */
export function takeRows(): { readonly read: number; readonly written: number } {
  const taken = untaken;
  untaken = { read: 0, written: 0 };
  return taken;
}

/** What was sent to D1 since a database was opened, and what D1 reported. */
export class DatabaseUsage {
  /** Statements, including those of each retry. */
  statements = 0;
  readonly size: KnownSize;
  readonly #now: () => number;

  constructor(size: KnownSize, now: () => number) {
    this.size = size;
    this.#now = now;
  }

  /** The newest size that was reported within this many milliseconds; `null` if there is none. */
  bytesWithin(maxAgeMs: number): number | null {
    return this.#now() - this.size.at <= maxAgeMs ? this.size.bytes : null;
  }

  /** Notes what D1 reported with the results of one call. The last one has the size after all of them. */
  note(results: readonly Reported[]): void {
    for (const { meta } of results) {
      untaken.read += meta?.rows_read ?? 0;
      untaken.written += meta?.rows_written ?? 0;
    }
    const bytes = results.at(-1)?.meta?.size_after ?? 0;
    if (bytes > 0) Object.assign(this.size, { bytes, at: this.#now() } satisfies KnownSize);
  }
}
