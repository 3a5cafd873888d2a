import type { Backlog, Load } from "../measures/capacity.ts";
import type { Delivery } from "../measures/deliveries.ts";
import type { Freshness } from "../measures/freshness.ts";
import type { Lookup, Usage } from "../measures/operations.ts";
import type { Poison } from "../measures/poison.ts";
import type { PollerRun } from "../measures/poller-cost.ts";
import type { Room } from "../measures/room.ts";
import type { BudgetLine } from "./budget-line.ts";
import { judgeCapacity, judgeFreshness } from "./capacity.ts";
import { judgeRoom } from "./room.ts";
import { figure } from "./table.ts";

export interface Counted {
  readonly usages: readonly Usage[];
  readonly lookups: readonly Lookup[];
  readonly deliveries: readonly Delivery[];
  readonly pollerRuns: readonly PollerRun[];
  readonly poison: readonly Poison[];
  readonly room: readonly Room[];
  readonly capacity: readonly (Load | Backlog)[];
  readonly freshness: readonly Freshness[];
}

const BULK_JOB = 1_000;
const SMALL_JOB = 100;

/** The counted budgets: these fail a run. Times never do. */
export function judge(counted: Counted): BudgetLine[] {
  const { usages, lookups, deliveries, pollerRuns, poison } = counted;
  const [bulk, single] = (["bulk", "one by one"] as const).map((way) => tenPolls(usages, way));
  const perContext = lookups.map(({ rowsRead, contexts }) => rowsRead / contexts);
  const idle = pollerRuns.filter(({ due }) => !due);
  return [
    {
      ...atMost("rows written per document, bulk, ten polls", bulk?.rowsWritten, 2.1),
      ...largeEnough(bulk, BULK_JOB),
    },
    {
      ...atMost("rows written per document, one by one, ten polls", single?.rowsWritten, 7),
      ...largeEnough(single, SMALL_JOB),
    },
    atMost("rows read per document up to its outcome, bulk", bulk?.rowsRead, 12),
    atMost("rows read per context by a score lookup", perContext.length === 0 ? undefined : Math.max(...perContext), 6),
    atMost("Queue operations per document of 1.5 KB, bulk", bulk?.queueOperations, 0.1),
    ...deliveries.map((delivery) => ({
      what: `jobs per full delivery, ${delivery.shape}`,
      budget: `fewest (${delivery.fewest}), or each but the last ≥ 0.95 full`,
      measured: `${delivery.jobs}, ${figure(delivery.leastFull)} full`,
      ok: delivery.leastFull >= 0.95 && delivery.jobs <= Math.ceil(delivery.fewest / 0.95),
    })),
    {
      what: "D1 calls of a poller run with nothing due",
      budget: "1",
      measured: list(idle.map(({ d1Calls }) => d1Calls)),
      ok: idle.length > 0 && idle.every(({ d1Calls }) => d1Calls === 1),
    },
    {
      what: `rows read by such a run, at ${list(idle.map(({ finished }) => finished))} finished jobs`,
      budget: "all the same",
      measured: list(idle.map(({ rowsRead }) => rowsRead)),
      ok: new Set(idle.map(({ rowsRead }) => rowsRead)).size === 1,
    },
    ...poison.flatMap(({ strategy, bad, documents, calls, bound }) =>
      strategy === "bisection" && bound !== null
        ? [atMost(`calls to find ${bad} bad in ${documents}`, calls, bound)]
        : [],
    ),
    ...judgeRoom(counted.room),
    ...judgeCapacity(counted.capacity),
    ...judgeFreshness(counted.freshness),
  ];
}

function tenPolls(usages: readonly Usage[], way: Usage["way"]): Usage | undefined {
  return usages.find((usage) => usage.arm === "sluice" && usage.way === way && usage.polls === 10);
}

/** The budget applies to jobs of a minimum size: smaller ones prove nothing. */
function largeEnough(usage: Usage | undefined, least: number): Pick<BudgetLine, "measured" | "ok"> | null {
  const mean = usage?.meanJob ?? 0;
  return mean >= least
    ? null
    : { measured: `in jobs of ${figure(mean)} documents: too small for the budget`, ok: false };
}

function atMost(what: string, measured: number | undefined, budget: number): BudgetLine {
  if (measured === undefined) return { what, budget: `≤ ${figure(budget)}`, measured: "not measured", ok: false };
  return { what, budget: `≤ ${figure(budget)}`, measured: figure(measured), ok: measured <= budget };
}

function list(values: readonly number[]): string {
  return [...new Set(values)].map((value) => value.toLocaleString("en")).join(", ");
}

/** The budgets as a table for a terminal. */
export function showBudgets(lines: readonly BudgetLine[]): string {
  const rows = [
    ["", "budget", "measured", ""],
    ...lines.map(({ what, budget, measured, ok }) => [what, budget, measured, ok ? "ok" : "OVER"]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
