import { sluice } from "../arms/index.ts";
import { rowsRead, rowsWritten } from "../counting/counts.ts";
import type { Stack } from "../runtime/stack.ts";
import { pushOne } from "./operations.ts";

/** The cost of one poller run. */
export interface PollerRun {
  readonly open: number;
  readonly finished: number;
  /** Whether all open jobs were due, or none. */
  readonly due: boolean;
  readonly d1Calls: number;
  readonly statements: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly aiCalls: number;
  readonly milliseconds: number;
}

const IDLE_RUNS = 8;
const ROWS_AT_ONCE = 50_000;
const NEVER = 9_000_000_000_000_000;

/** Runs the poller on a D1 with the given numbers of open and finished jobs. */
export async function measurePoller(
  stack: Stack,
  cases: readonly { readonly open: number; readonly finished: number }[],
): Promise<PollerRun[]> {
  await stack.clear("sluice");
  // A batch that stays queued. Every open job refers to it.
  await stack.plan({ queued_ms: 1_000_000_000 });
  await pushOne(stack, { id: "only", query: "one", contexts: ["a", "b"] });
  await sluice.recorded(stack, 1);
  const [template] = (await stack.sql<{ requestId: string }>("SELECT request_id AS requestId FROM jobs")).results;
  if (template === undefined) throw new Error("no job was recorded");
  // Every later run reads the recorded size of the database.
  for (let n = 0; n < IDLE_RUNS && (await stack.countRows("sluice", "database_size")) === 0; n += 1)
    await stack.scheduled("eager-poller");
  const runs: PollerRun[] = [];
  let finished = 0;
  for (const wanted of cases.toSorted((a, b) => a.finished - b.finished || a.open - b.open)) {
    await addFinished(stack, finished, wanted.finished);
    finished = wanted.finished;
    await stack.sql("DELETE FROM jobs WHERE due_at IS NOT NULL");
    await addOpen(stack, wanted.open, template.requestId);
    // Some runs write the heartbeat, and every fifth checks submissions: exclude these.
    const idle: PollerRun[] = [];
    for (let n = 0; n < IDLE_RUNS; n += 1) idle.push(await run(stack, wanted, false));
    const plain = idle.toSorted((a, b) => a.rowsRead + a.rowsWritten - b.rowsRead - b.rowsWritten)[0];
    if (plain !== undefined) runs.push(plain);
    runs.push(await run(stack, wanted, true));
  }
  return runs;
}

async function run(
  stack: Stack,
  jobs: { readonly open: number; readonly finished: number },
  due: boolean,
): Promise<PollerRun> {
  await stack.sql(`UPDATE jobs SET due_at = ${due ? 0 : NEVER} WHERE due_at IS NOT NULL`);
  await stack.takeCounts("sluice");
  await stack.scheduled("eager-poller");
  const counts = await stack.takeCounts("sluice");
  const statements = Object.values(counts.d1.statements);
  return {
    ...jobs,
    due,
    d1Calls: counts.d1.calls,
    statements: statements.reduce((sum, { runs }) => sum + runs, 0),
    rowsRead: rowsRead(counts),
    rowsWritten: rowsWritten(counts),
    aiCalls: counts.ai.polls + counts.ai.submits,
    milliseconds: counts.busy.scheduled,
  };
}

const numbers = (from: number, to: number): string =>
  `WITH RECURSIVE n (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${to})`;

async function addFinished(stack: Stack, from: number, to: number): Promise<void> {
  for (let start = from; start < to; start += ROWS_AT_ONCE) {
    await stack.sql(`${numbers(start, Math.min(start + ROWS_AT_ONCE, to))}
      INSERT INTO jobs (id, model, lane, status, round, dispatch_number, document_count, context_count, payload_bytes, request_id,
        created_at, dispatched_at, ended_at, finalized_sequence, dispatches, members)
      SELECT 'done_' || i, model, lane, 'succeeded', 1, 1, 1, 5, 1500, request_id, created_at, dispatched_at, created_at,
        i + 1, dispatches, '[]' FROM n CROSS JOIN (SELECT * FROM jobs ORDER BY id DESC LIMIT 1)`);
  }
}

async function addOpen(stack: Stack, count: number, requestId: string): Promise<void> {
  for (let start = 0; start < count; start += ROWS_AT_ONCE) {
    await stack.sql(
      `${numbers(start, Math.min(start + ROWS_AT_ONCE, count))}
      INSERT INTO jobs (id, model, lane, status, round, dispatch_number, document_count, context_count, payload_bytes, request_id,
        due_at, created_at, dispatched_at, dispatches, members)
      SELECT 'open_' || i, '@cf/baai/bge-m3', 'bulk', 'dispatched', 1, 1, 1, 5, 1500, ?1, ${NEVER}, ?2, ?2, '[{"number":1}]', '[]'
      FROM n`,
      requestId,
      Date.now(),
    );
  }
}
