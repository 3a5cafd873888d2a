import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { checkMutations } from "./run/check-mutations.ts";
import { showSeed, simulate } from "./run/simulate.ts";

const USAGE = `pnpm simulate                 2,000 seeds
pnpm simulate --seeds N       N seeds, from 1 or from --from M
pnpm simulate --seed N        one seed, with its trace
pnpm simulate --mutations     break the product on purpose: each breakage must be caught within 500 seeds`;

const wholeNumber = (name: string, text: string): number => {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 1 && number < 2 ** 31) return number;
  console.error(`--${name} must be a whole number from 1, not ${JSON.stringify(text)}.\n\n${USAGE}`);
  process.exit(2);
};

function readArguments() {
  try {
    return parseArgs({
      options: {
        seeds: { type: "string", default: "2000" },
        from: { type: "string", default: "1" },
        seed: { type: "string" },
        mutations: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

const given = readArguments();
const processes = availableParallelism();
const from = wholeNumber("from", given.from);
const print = (line: string) => console.log(line);

if (given.help) print(USAGE);
else {
  let held: boolean;
  if (given.seed !== undefined) held = await showSeed(wholeNumber("seed", given.seed), print);
  else if (given.mutations) held = await checkMutations({ from, processes }, print);
  else held = await simulate({ from, count: wholeNumber("seeds", given.seeds), processes }, print);
  process.exitCode = held ? 0 : 1;
}
