import { measureCounted } from "./measure-counted.ts";
import { measureMemory } from "./measures/memory.ts";
import { measureThroughput, type ThroughputRun } from "./measures/throughput.ts";
import { fullPlan, quickPlan, throughputCases } from "./plans.ts";
import type { BudgetLine } from "./report/budget-line.ts";
import { judge } from "./report/budgets.ts";
import { judgeTimes } from "./report/goals.ts";
import { describeMachine } from "./report/machine.ts";
import type { Results } from "./report/results.ts";
import { writeResults } from "./report/write.ts";
import { Stack } from "./runtime/stack.ts";

/** Seconds. Short and equal for every arm: timed runs do not wait for fuller deliveries. */
const TIMED_BATCH_SECONDS = 0.1;

type Report = (line: string) => void;

/**
 * Measures everything and writes `RESULTS.md`. With `quick`, measures only what has a counted budget and writes
 * nothing.
 */
export async function measureEverything(
  { quick, times }: { readonly quick: boolean; readonly times: number },
  report: Report,
): Promise<BudgetLine[]> {
  const machine = describeMachine();
  const throughput = quick ? null : await measureTimes(times, report);
  const counted = await measureCounted(quick ? quickPlan : fullPlan, report);
  const budgets = judge(counted);
  if (throughput !== null) {
    report("memory");
    const memory = await measureMemory();
    const goals = judgeTimes(throughput, memory);
    const date = new Date().toISOString();
    writeResults({ date, roomDate: date, machine, budgets, goals, counted, throughput, memory });
    report("wrote packages/bench/RESULTS.md");
  }
  return budgets;
}

async function measureTimes(times: number, report: Report): Promise<Results["throughput"]> {
  await using stack = await Stack.start({ batchSeconds: TIMED_BATCH_SECONDS });
  const reportWarmUp = (line: string) => report(`${line} (to warm up, not counted)`);
  const cases = throughputCases(times);
  // Freshly started Workers compile their code, which must not affect the comparison.
  for (const one of cases.compared.slice(0, 1)) await measureThroughput(stack, { ...one, rounds: 1 }, reportWarmUp);
  const compared: ThroughputRun[] = [];
  for (const one of cases.compared) compared.push(...(await measureThroughput(stack, one, report)));
  const growth: ThroughputRun[] = [];
  for (const one of cases.growth) growth.push(...(await measureThroughput(stack, one, report)));
  return { compared, growth };
}
