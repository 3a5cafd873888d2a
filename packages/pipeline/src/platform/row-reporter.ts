import { takeRows, type Database } from "@sluice/db";
import type { LogEvent } from "./context.ts";
import { describeError } from "./describe-error.ts";
import { addRows } from "./sql/add-rows.ts";

/** Milliseconds between two reports of an isolate: each is a row written. */
const INTERVAL_MS = 60_000;

interface Reporting {
  readonly db: Database;
  /** Milliseconds; only differences count. */
  readonly now: () => number;
  readonly log: (event: LogEvent) => void;
}

/**
 * Adds the rows that an isolate has read and written to `row_usage`, at the end of an invocation and at most once in an
 * interval. What an isolate has not reported when the platform ends it is missing: the bill is exact, this is not.
 */
export class RowReporter {
  readonly #worker: Parameters<typeof addRows>[1];
  readonly #interval: number;
  #reportedAt: number | null = null;

  constructor(worker: Parameters<typeof addRows>[1], interval = INTERVAL_MS) {
    this.#worker = worker;
    this.#interval = interval;
  }

  /** Never throws: nothing depends on these figures. */
  async report({ db, now, log }: Reporting): Promise<void> {
    this.#reportedAt ??= now();
    if (now() - this.#reportedAt < this.#interval) return;
    this.#reportedAt = now();
    const rows = takeRows();
    if (rows.read + rows.written === 0) return;
    try {
      await addRows(db, this.#worker, rows);
    } catch (error) {
      log({ event: "rows_not_reported", ...rows, ...describeError(error) });
    }
  }
}
