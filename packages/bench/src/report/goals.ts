import type { ArmName } from "../arms/arm.ts";
import type { HeapUse } from "../measures/memory.ts";
import { medianRun, rate, type ThroughputRun } from "../measures/throughput.ts";
import type { BudgetLine } from "./budgets.ts";
import { figure, megabytes } from "./table.ts";

const SHAPE = "1.5 KB";
const STREAMED_GROWTH = 32e6;
const WORKER_MEMORY = 128e6;

/** What is wanted by the clock and the heap. Both depend on the machine and what else it does. */
export function judgeTimes(runs: readonly ThroughputRun[], memory: readonly HeapUse[]): BudgetLine[] {
  const rateOf = (arm: ArmName): number => {
    const median = medianRun(runs.filter((run) => run.shape === SHAPE && run.arm === arm));
    return median === undefined ? Number.NaN : rate(median);
  };
  const times = (arm: ArmName, least: number): BudgetLine => {
    const measured = rateOf("sluice") / rateOf(arm);
    return {
      what: `throughput over the ${arm} arm's`,
      budget: `≥ ${least}`,
      measured: figure(measured),
      ok: measured >= least,
    };
  };
  return [
    times("floor", 0.7),
    times("relay", 0.7),
    times("tutorial", 15),
    times("row-per-document", 10),
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
