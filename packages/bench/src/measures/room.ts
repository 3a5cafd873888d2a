import { sluice, tickUntil } from "../arms/index.ts";
import { rowsRead, rowsWritten, type Counts } from "../counting/counts.ts";
import { makeDocuments, MIDDLE, toBodies } from "../documents.ts";
import type { Stack } from "../runtime/stack.ts";
import type { Sweep, SweepEnd } from "../workers/sweep-later.ts";
import { addAlone } from "./documents-alone.ts";
import { pollAsEachMinute, pushOne } from "./operations.ts";

/** How the documents were pushed. `alone`: each in a push, a delivery and a job of its own. */
export type RoomWay = "bulk" | "one by one" | "alone";

export interface RoomCase {
  readonly way: RoomWay;
  readonly documents: number;
}

/** What retention deletes after some days, and the sweeps for it. All but `sweeps` are per document. */
export interface Retained {
  readonly sweeps: number;
  readonly statements: number;
  readonly rowsWritten: number;
  readonly rowsRead: number;
  /** Of the poller, including waiting for D1. */
  readonly milliseconds: number;
  /** Bytes in D1 after it. */
  readonly bytes: number;
}

/** What documents of 1.5 KB take in D1 during their life. */
export interface Room extends RoomCase {
  /** Bytes in D1 per document, when all have their scores. */
  readonly bytes: number;
  /** A day after `RETAIN_TEXTS_DAYS`. */
  readonly texts: Retained;
  /** A day after `RETAIN_HISTORY_DAYS`, and the 8.5 days for which a message may repeat a part. */
  readonly history: Retained;
  /** A day after `RETAIN_SCORES_DAYS`, if it is 60. */
  readonly scores: Retained;
  /** Rows read by a sweep that finds nothing old enough. */
  readonly idleRowsRead: number;
}

const BODY_BYTES = 45_000_000;
const PUSHES_AT_ONCE = 8;
const TEXTS_AFTER_DAYS = 8;
const HISTORY_AFTER_DAYS = 40;
const SCORES_AFTER_DAYS = 61;
/** `RETAIN_SCORES_DAYS` for the last measurement. */
const SCORES_DAYS = "60";
const MAX_SWEEPS = 500;

/** Pushes documents, waits for their scores, and lets retention delete them step by step as days go by. */
export async function measureRoom(
  stack: Stack,
  cases: readonly RoomCase[],
  report: (line: string) => void,
): Promise<Room[]> {
  const rooms: Room[] = [];
  for (const one of cases) {
    report(`room and retention: ${one.documents} documents, ${one.way}`);
    rooms.push(await measureOne(stack, one));
  }
  return rooms;
}

async function measureOne(stack: Stack, one: RoomCase): Promise<Room> {
  const { documents } = one;
  await stack.plan({});
  await stack.clear("sluice");
  const empty = await stack.size("sluice");
  const size = async () => (await stack.size("sluice")) - empty;
  await endAll(stack, one);
  const bytes = await size();
  // Only what is in the totals may be deleted.
  await sweep(stack, { days: 1, does: "maintenance", scores: "" });
  await sweep(stack, { days: 1, does: "retention", scores: "" });
  await stack.takeCounts("sluice");
  await sweep(stack, { days: 1, does: "retention", scores: "" });
  const idleRowsRead = rowsRead(await stack.takeCounts("sluice"));
  const retainAt = async (days: readonly number[], scores: string): Promise<Retained> => {
    const sum = noUse();
    for (const one of days) await sweepAll(stack, { days: one, does: "retention", scores }, sum);
    return {
      sweeps: sum.sweeps,
      statements: sum.statements / documents,
      rowsWritten: sum.rowsWritten / documents,
      rowsRead: sum.rowsRead / documents,
      milliseconds: sum.milliseconds / documents,
      bytes: (await size()) / documents,
    };
  };
  const texts = await retainAt([TEXTS_AFTER_DAYS], "");
  await expectRows(stack, "contexts", 0);
  const history = await retainAt([HISTORY_AFTER_DAYS], "");
  for (const table of ["parts", "jobs"]) await expectRows(stack, table, 0);
  await expectRows(stack, "outcomes", documents);
  // The pass of the next day finds the submissions without documents.
  const scores = await retainAt([SCORES_AFTER_DAYS, SCORES_AFTER_DAYS + 1.5], SCORES_DAYS);
  for (const table of ["documents", "outcomes", "submissions"]) await expectRows(stack, table, 0);
  return { ...one, bytes: bytes / documents, texts, history, scores, idleRowsRead };
}

/** Documents that have their scores. */
async function endAll(stack: Stack, { way, documents }: RoomCase): Promise<void> {
  const pushed = makeDocuments(MIDDLE, way === "alone" ? 1 : documents, 31);
  if (way === "bulk") await sluice.push(stack, toBodies(pushed, BODY_BYTES));
  else {
    const rest = pushed.values();
    const pushEach = async () => {
      for (const document of rest) await pushOne(stack, document);
    };
    await Promise.all(Array.from({ length: PUSHES_AT_ONCE }, pushEach));
  }
  // A run of the poller that began in an earlier measurement may already fetch results.
  await tickUntil(async () => {
    const { results } = await stack.sql<{ recorded: number; waiting: number }>(
      `SELECT coalesce(sum(recorded), 0) AS recorded,
        (SELECT count(*) FROM jobs WHERE status IN ('pending', 'dispatching')) AS waiting FROM submissions`,
    );
    return results[0]?.recorded === pushed.length && results[0].waiting === 0;
  });
  await tickUntil(async () => {
    await pollAsEachMinute(stack);
    return sluice.isDone(stack, pushed.length);
  });
  if (way === "alone") await addAlone(stack, documents);
}

async function sweep(stack: Stack, body: Sweep): Promise<SweepEnd> {
  return stack.expect(200, "sluice-poller", "/sweep", { method: "POST", body: JSON.stringify(body) });
}

const noUse = () => ({ sweeps: 0, statements: 0, milliseconds: 0, rowsWritten: 0, rowsRead: 0 });

/** Sweeps until a sweep deletes nothing, and adds all but that last one to the sum. */
async function sweepAll(stack: Stack, body: Sweep, sum: ReturnType<typeof noUse>): Promise<void> {
  await stack.takeCounts("sluice");
  for (let sweeps = 0; sweeps < MAX_SWEEPS; sweeps += 1) {
    const { statements, milliseconds } = await sweep(stack, body);
    const counts = await stack.takeCounts("sluice");
    if (!deletes(counts)) return;
    sum.sweeps += 1;
    sum.statements += statements;
    sum.milliseconds += milliseconds;
    sum.rowsWritten += rowsWritten(counts);
    sum.rowsRead += rowsRead(counts);
  }
  throw new Error(`retention did not end after ${MAX_SWEEPS} sweeps`);
}

function deletes({ d1 }: Counts): boolean {
  return Object.entries(d1.statements).some(([sql, { rowsWritten }]) => /\bDELETE\b/.test(sql) && rowsWritten > 0);
}

async function expectRows(stack: Stack, table: string, expected: number): Promise<void> {
  const rows = await stack.countRows("sluice", table);
  if (rows !== expected) throw new Error(`${table} has ${rows} rows after retention, not ${expected}`);
}
