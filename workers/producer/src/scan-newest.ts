/** Rows that a filtered page reads at once, and how often at most. */
const WINDOW = 500;
const MAX_WINDOWS = 4;

interface Scan<Row, Id> {
  readonly before: Id | null;
  readonly limit: number;
  /** Whether `matches` may refuse a row. */
  readonly filtered: boolean;
  /** The next rows, newest first. */
  readonly read: (before: Id | null, size: number) => Promise<readonly Row[]>;
  readonly matches: (row: Row) => boolean;
}

/**
 * A page of matching rows, newest first. It looks through 2,000 rows at most, so that rare matches do not make it
 * expensive. It may be short; `next` is where the next page starts, `null` at the end.
 */
export async function scanNewest<Row extends { readonly id: Id }, Id>(
  scan: Scan<Row, Id>,
): Promise<{ readonly rows: readonly Row[]; readonly next: Id | null }> {
  const rows: Row[] = [];
  let next = scan.before;
  let ended = false;
  for (let windows = 0; windows < MAX_WINDOWS && !ended && rows.length < scan.limit; windows += 1) {
    // One more than fits: if it is missing, this page is the last.
    const size = scan.filtered ? Math.max(WINDOW, scan.limit + 1) : scan.limit + 1;
    const found = await scan.read(next, size);
    ended = found.length < size;
    for (const [index, row] of found.entries()) {
      next = row.id;
      if (scan.matches(row)) rows.push(row);
      if (rows.length >= scan.limit) {
        ended &&= index === found.length - 1;
        break;
      }
    }
  }
  return { rows, next: ended ? null : next };
}
