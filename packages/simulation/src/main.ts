import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { print, printError, whenReaderLeaves } from "@sluice/client/terminal";
import { compare } from "./compare/compare.ts";
import { checkMutations } from "./run/check-mutations.ts";
import { showSeed, simulate } from "./run/simulate.ts";
import { KINDS } from "./world/kinds.ts";

const USAGE = `pnpm simulate                 2,000 seeds
pnpm simulate --seeds N       N seeds, from 1 or from --from M
pnpm simulate --seed N        one seed, with its trace
                              --kind NAME: seeds of that kind only, such as load: hundreds of small pushes
pnpm simulate --mutations     break the product on purpose: each mutation must be caught within 500 seeds,
                              a few rare ones within 500 of their kind
pnpm simulate --compare       compare Sluice with other designs, over 500 seeds or --seeds N;
                              --faultless: the same pushes without faults`;

whenReaderLeaves([process.stdout, process.stderr], () => process.exit(0));

const wholeNumber = (name: string, text: string): number => {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 1 && number < 2 ** 31) return number;
  printError(`--${name} must be a positive integer, not ${JSON.stringify(text)}.\n\n${USAGE}`);
  process.exit(2);
};

function readArguments() {
  try {
    return parseArgs({
      options: {
        seeds: { type: "string" },
        from: { type: "string", default: "1" },
        seed: { type: "string" },
        kind: { type: "string" },
        mutations: { type: "boolean", default: false },
        compare: { type: "boolean", default: false },
        faultless: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    printError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

const given = readArguments();
const modes = (["seed", "mutations", "compare"] as const).filter(
  (mode) => given[mode] !== undefined && given[mode] !== false,
);
if (modes.length > 1) refuse(`--${modes.join(" and --")} cannot be combined.`);
if (given.faultless && !given.compare) refuse("--faultless requires --compare.");

if (given.kind !== undefined) {
  if (given.mutations || given.compare) refuse("--kind can only be used with --seeds or --seed.");
  if (!KINDS.some(({ name }) => name === given.kind))
    refuse(`--kind must be one of ${KINDS.map(({ name }) => name).join(", ")}, not ${JSON.stringify(given.kind)}.`);
}

function refuse(flaw: string): never {
  printError(`${flaw}\n\n${USAGE}`);
  process.exit(2);
}

const processes = availableParallelism();
const from = wholeNumber("from", given.from);
const count = (usual: number) => (given.seeds === undefined ? usual : wholeNumber("seeds", given.seeds));

if (given.help) print(USAGE);
else {
  let held: boolean;
  if (given.seed !== undefined) held = await showSeed(wholeNumber("seed", given.seed), given.kind, print);
  else if (given.mutations) held = await checkMutations({ from, processes }, print);
  else if (given.compare)
    held = await compare({ from, count: count(500), processes, faultless: given.faultless }, print);
  else held = await simulate({ from, count: count(2_000), processes, ofKind: given.kind }, print);
  process.exitCode = held ? 0 : 1;
}
