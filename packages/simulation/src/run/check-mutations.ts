import { MUTATIONS, type Mutation } from "../mutations/index.ts";
import { runSeeds } from "./run-seeds.ts";
import type { SeedResult } from "./run-seed.ts";

interface Caught {
  /** The seed's ordinal in words. */
  readonly at: string;
  readonly flaw: string;
}

/** Seeds within which each mutation must be caught. */
const MAX_SEEDS = 500;

/** Runs each mutation, and prints the check that caught it. Returns whether all were caught. */
export async function checkMutations(
  options: { from: number; processes: number },
  print: (line: string) => void,
): Promise<boolean> {
  const waiting = [...MUTATIONS];
  const survivors: string[] = [];
  const work = async () => {
    for (let mutation = waiting.shift(); mutation !== undefined; mutation = waiting.shift()) {
      const seeds = mutation.kind === undefined ? "" : ` of the kind ${mutation.kind}`;
      let caught: Caught | null;
      try {
        caught = await tryMutation(mutation, options.from);
      } catch (error) {
        print(`BROKEN    ${mutation.name}: ${error instanceof Error ? error.message : String(error)}`);
        caught = null;
      }
      print(
        caught === null
          ? `NOT CAUGHT  ${mutation.name}${seeds === "" ? "" : `, with seeds${seeds}`}: ${mutation.breaks}`
          : `caught    ${mutation.name}: at the ${caught.at} seed${seeds}: ${caught.flaw.replaceAll("\n", " ").slice(0, 160)}`,
      );
      if (caught === null) survivors.push(mutation.name);
    }
  };
  await Promise.all(Array.from({ length: options.processes }, work));
  print("");
  const rare = MUTATIONS.filter(({ kind }) => kind !== undefined).map(({ name }) => name);
  const how =
    `${MUTATIONS.length - rare.length} in ordinary seeds; the other ${rare.length}, which affect at most two in a ` +
    `thousand of those, in seeds of one kind (${rare.join(", ")})`;
  if (survivors.length === 0) print(`All ${MUTATIONS.length} mutations were caught within ${MAX_SEEDS} seeds: ${how}.`);
  else
    print(`${survivors.length} of ${MUTATIONS.length} mutations survive ${MAX_SEEDS} seeds: ${survivors.join(", ")}`);
  return survivors.length === 0;
}

async function tryMutation({ name }: Mutation, from: number): Promise<Caught | null> {
  let caught: Caught | null = null;
  await runSeeds<SeedResult>({
    from,
    count: MAX_SEEDS,
    processes: 1,
    program: { kind: "simulate", mutation: name, keepsTrace: false },
    onResult: ({ seed, flaw }) => {
      if (flaw !== null) caught ??= { at: ordinal(seed - from + 1), flaw };
      return flaw === null;
    },
  });
  return caught;
}

function ordinal(number: number): string {
  const ending = number % 100 >= 11 && number % 100 <= 13 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${ending}`;
}
