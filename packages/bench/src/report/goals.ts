import type { ArmName } from "../arms/arm.ts";
import type { HeapUse } from "../measures/memory.ts";
import { medianRun, rate, type ThroughputRun } from "../measures/throughput.ts";
import type { BudgetLine } from "./budget-line.ts";
import type { Results } from "./results.ts";
import { figure, megabytes } from "./table.ts";

const SHAPE = "1.5 KB";
const STREAMED_GROWTH = 32e6;
const WORKER_MEMORY = 128e6;

/** The required ratio of Sluice's documents per second to an arm's. */
const TIMES: Partial<Record<ArmName, number>> = { relay: 0.9, tutorial: 15, "row-per-document": 10 };

/** Goals for times and heaps. Both depend on the machine and its load. */
export function judgeTimes({ compared, growth }: Results["throughput"], memory: readonly HeapUse[]): BudgetLine[] {
  const most = Math.max(...growth.map(({ documents }) => documents));
  return [
    ...compareRates(compared.filter(({ shape }) => shape === SHAPE)),
    // Arms that do not run at this size take the same time per document, so their own runs are compared.
    ...compareRates([...growth.filter(({ documents }) => documents === most), ...slowOnes(compared, growth)]),
    ...memory.map(({ what, worker, lowest, peak, buffers }) => {
      const streamed = what.includes("NDJSON");
      const measured = streamed ? peak - lowest : peak + buffers;
      const most = streamed ? STREAMED_GROWTH : WORKER_MEMORY;
      return {
        what: `${streamed ? "heap growth" : "heap and buffers"} of the ${worker}: ${what}`,
        budget: `< ${megabytes(most)}`,
        measured: megabytes(measured),
        ok: measured < most,
      };
    }),
  ];
}

function slowOnes(compared: readonly ThroughputRun[], growth: readonly ThroughputRun[]): ThroughputRun[] {
  return compared.filter(({ shape, arm }) => shape === SHAPE && !growth.some((run) => run.arm === arm));
}

/** The ratio of Sluice's rate to each arm's, by the medians of `runs`. */
function compareRates(runs: readonly ThroughputRun[]): BudgetLine[] {
  const median = (arm: string) => medianRun(runs.filter((run) => run.arm === arm));
  const ours = median("sluice");
  return Object.entries(TIMES).map(([arm, least]) => {
    const theirs = median(arm);
    const measured = ours === undefined || theirs === undefined ? Number.NaN : rate(ours) / rate(theirs);
    return {
      what: `throughput of ${figure(ours?.documents ?? Number.NaN)} documents relative to the ${arm} arm with ${figure(theirs?.documents ?? Number.NaN)}`,
      budget: `≥ ${least}`,
      measured: figure(measured),
      ok: measured >= least,
    };
  });
}
