/** The totals of a statement over all its runs. */
export interface StatementCounts {
  runs: number;
  rowsRead: number;
  rowsWritten: number;
  /** SQL time reported by D1. */
  milliseconds: number;
}

/** A Worker's billable usage, and the time of its handlers. */
export interface Counts {
  /** Invocations: HTTP requests, deliveries, cron runs. */
  requests: number;
  d1: { calls: number; statements: Record<string, StatementCounts> };
  /** Queue operations: one for each started 64 KB of each message. */
  queue: { messages: number; bytes: number; written: number; read: number; deleted: number };
  ai: { submits: number; polls: number; direct: number };
  deliveries: { messages: number; submits: number }[];
  /** Milliseconds of handlers, including waiting. */
  busy: { fetch: number; queue: number; scheduled: number };
}

export function noCounts(): Counts {
  return {
    requests: 0,
    d1: { calls: 0, statements: {} },
    queue: { messages: 0, bytes: 0, written: 0, read: 0, deleted: 0 },
    ai: { submits: 0, polls: 0, direct: 0 },
    deliveries: [],
    busy: { fetch: 0, queue: 0, scheduled: 0 },
  };
}

export function addCounts(into: Counts, more: Counts): void {
  into.requests += more.requests;
  into.d1.calls += more.d1.calls;
  for (const [sql, counts] of Object.entries(more.d1.statements))
    addNumbers((into.d1.statements[sql] ??= noStatement()), counts);
  addNumbers(into.queue, more.queue);
  addNumbers(into.ai, more.ai);
  addNumbers(into.busy, more.busy);
  into.deliveries.push(...more.deliveries);
}

export function noStatement(): StatementCounts {
  return { runs: 0, rowsRead: 0, rowsWritten: 0, milliseconds: 0 };
}

function addNumbers<Key extends string>(into: Record<Key, number>, more: Readonly<Record<Key, number>>): void {
  for (const key of Object.keys(more) as Key[]) into[key] += more[key];
}

export function rowsWritten(counts: Counts): number {
  return Object.values(counts.d1.statements).reduce((sum, statement) => sum + statement.rowsWritten, 0);
}

export function rowsRead(counts: Counts): number {
  return Object.values(counts.d1.statements).reduce((sum, statement) => sum + statement.rowsRead, 0);
}

export function queueOperations({ queue }: Counts): number {
  return queue.written + queue.read + queue.deleted;
}

export function aiCalls({ ai }: Counts): number {
  return ai.submits + ai.polls + ai.direct;
}
