import "./quiet.ts";
import { parseArgs } from "node:util";
import { print, printError, whenReaderLeaves } from "@sluice/client/terminal";
import { measureOneLoad } from "./measure-one-load.ts";
import type { BudgetLine } from "./report/budget-line.ts";
import { showBudgets } from "./report/budgets.ts";

const USAGE = `pnpm bench             measures everything (about half an hour), writes packages/bench/RESULTS.md
pnpm bench --quick     counts only what has a budget (about three minutes), writes nothing
pnpm bench --room      measures only room and retention (about a minute), and replaces that section of RESULTS.md
pnpm bench --times N   throughput with N times as many documents
pnpm bench --load N    only a load of N small jobs a minute on a virtual clock: latency, statements, memory for texts
  --minutes M            duration of the load (120)
  --service S            Workers AI takes S seconds for a batch (5)
  --full                 full jobs instead of small ones
  --events               Workers AI sends an event when a batch is done
pnpm bench --backlog N only a backlog of N small jobs that become due at once; accepts --service
  --unpolled             done at Workers AI while cron did not run, instead of held by a pause

Exits with 1 if a counted budget is exceeded. Times never fail a run.`;

whenReaderLeaves([process.stdout, process.stderr], () => process.exit(0));

const startedAt = performance.now();
const report = (line: string) =>
  print(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4)} s  ${line}`);

function readArguments() {
  try {
    return parseArgs({
      options: {
        quick: { type: "boolean", default: false },
        room: { type: "boolean", default: false },
        times: { type: "string", default: "1" },
        load: { type: "string" },
        backlog: { type: "string" },
        unpolled: { type: "boolean", default: false },
        full: { type: "boolean", default: false },
        events: { type: "boolean", default: false },
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

/** Prints the budgets. The run fails if one is exceeded. */
function show(budgets: readonly BudgetLine[]): void {
  print(`\n${showBudgets(budgets)}`);
  process.exitCode = budgets.every(({ ok }) => ok) ? 0 : 1;
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
} else if (given.room && (given.quick || times !== 1)) {
  printError(`--room measures only room and retention, so it cannot be combined with --quick or --times.\n\n${USAGE}`);
  process.exitCode = 2;
} else if (given.room) {
  const { measureRoomOnly } = await import("./measure-room-only.ts");
  show(await measureRoomOnly(report));
} else if (given.quick && times !== 1) {
  printError(`--quick measures no throughput, so it cannot be combined with --times.\n\n${USAGE}`);
  process.exitCode = 2;
} else if (!Number.isInteger(times) || times < 1) {
  printError(`--times must be a whole number from 1, got ${JSON.stringify(given.times)}.\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  // Loaded here, because loading the local runtime takes seconds.
  const { measureEverything } = await import("./measure-everything.ts");
  show(await measureEverything({ quick: given.quick, times }, report));
}
