import "./quiet.ts";
import { parseArgs } from "node:util";
import { print, printError, whenReaderLeaves } from "@sluice/client/terminal";
import { measureCounted } from "./measure-counted.ts";
import { measureOneLoad } from "./measure-one-load.ts";
import { measureFreshness, type Freshness } from "./measures/freshness.ts";
import { measureMemory } from "./measures/memory.ts";
import { measureThroughput, type ThroughputRun } from "./measures/throughput.ts";
import { freshnessCases, fullPlan, quickPlan, throughputCases } from "./plans.ts";
import { judge, showBudgets } from "./report/budgets.ts";
import { judgeTimes } from "./report/goals.ts";
import { describeMachine } from "./report/machine.ts";
import type { Results } from "./report/results.ts";
import { writeResults } from "./report/write.ts";
import { Stack } from "./runtime/stack.ts";

const USAGE = `pnpm bench             measures everything (about a quarter of an hour), writes packages/bench/RESULTS.md
pnpm bench --quick     counts what has a counted budget (under two minutes), writes nothing
pnpm bench --times N   the throughput of N times as many documents
pnpm bench --load N    N small jobs a minute on a virtual clock, and nothing else: latency, statements, texts held
  --minutes M            for this long (120)
  --service S            Workers AI takes S seconds for a batch (5)
  --full                 full jobs instead of small ones
pnpm bench --backlog N N small jobs that become due at once, and nothing else; takes --service
  --unpolled             dispatched and done while cron was silent, instead of held by a pause

Ends with 1 where a counted budget is over. What the clock says fails nothing.`;

/** Short, and the same for every arm: nobody waits for a fuller delivery where time is measured. */
const TIMED_BATCH_SECONDS = 0.1;

whenReaderLeaves([process.stdout, process.stderr], () => process.exit(0));

const startedAt = performance.now();
const tell = (line: string) => print(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4)} s  ${line}`);

const tellWarmUp = (line: string) => tell(`${line} (to warm up, not counted)`);

function readArguments() {
  try {
    return parseArgs({
      options: {
        quick: { type: "boolean", default: false },
        times: { type: "string", default: "1" },
        load: { type: "string" },
        backlog: { type: "string" },
        unpolled: { type: "boolean", default: false },
        full: { type: "boolean", default: false },
        minutes: { type: "string", default: "120" },
        service: { type: "string", default: "5" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    printError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

async function measureTimes(times: number): Promise<Results["throughput"]> {
  await using stack = await Stack.start({ batchSeconds: TIMED_BATCH_SECONDS });
  const cases = throughputCases(times);
  // Workers that have just started compile what they run: that is not what is compared.
  for (const one of cases.compared.slice(0, 1)) await measureThroughput(stack, { ...one, rounds: 1 }, tellWarmUp);
  const compared: ThroughputRun[] = [];
  for (const one of cases.compared) compared.push(...(await measureThroughput(stack, one, tell)));
  const growth: ThroughputRun[] = [];
  for (const one of cases.growth) growth.push(...(await measureThroughput(stack, one, tell)));
  return { compared, growth };
}

async function measureWaits(): Promise<Freshness[]> {
  const measured: Freshness[] = [];
  for (const one of freshnessCases) {
    tell(
      `freshness at ${one.documentsPerSecond} documents a second, service ${one.serviceSeconds} s, backlog ${one.backlog}`,
    );
    measured.push(await measureFreshness(one));
  }
  return measured;
}

const given = readArguments();
const times = Number(given.times);
if (given.help) {
  print(USAGE);
} else if (given.load !== undefined || given.backlog !== undefined) {
  const wrong = await measureOneLoad(given);
  if (wrong !== null) {
    printError(`${wrong}\n\n${USAGE}`);
    process.exitCode = 2;
  }
} else if (given.quick && times !== 1) {
  printError(`--quick measures no throughput, so it has nothing to do with --times.\n\n${USAGE}`);
  process.exitCode = 2;
} else if (!Number.isInteger(times) || times < 1) {
  printError(`--times must be a whole number from 1, not ${JSON.stringify(given.times)}.\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  const machine = describeMachine();
  const throughput = given.quick ? null : await measureTimes(times);
  const counted = await measureCounted(given.quick ? quickPlan : fullPlan, tell);
  const budgets = judge(counted);
  if (throughput !== null) {
    const freshness = await measureWaits();
    tell("memory");
    const memory = await measureMemory();
    const goals = judgeTimes(throughput, memory);
    writeResults({ date: new Date().toISOString(), machine, budgets, goals, counted, throughput, freshness, memory });
    tell("wrote packages/bench/RESULTS.md");
  }
  print(`\n${showBudgets(budgets)}`);
  process.exitCode = budgets.every(({ ok }) => ok) ? 0 : 1;
}
