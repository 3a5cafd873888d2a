import { KEPT_SEEDS } from "./kept-seeds.ts";
import { runSeeds } from "./run-seeds.ts";
import type { SeedResult } from "./run-seed.ts";
import { Summary } from "./summary.ts";

/** A run ends after this many failing seeds. The first is the most useful. */
const MAX_FAILURES = 5;
/** The number of seeds from which every fault must occur. */
const ALL_FAULTS_FROM_SEEDS = 500;
const PROGRESS_EVERY = 2_000;

type Print = (line: string) => void;

/**
 * Runs many seeds, the kept ones first, and prints the results. Returns whether every check held and every fault
 * occurred.
 */
export async function simulate(
  options: { from: number; count: number; processes: number; ofKind: string | undefined },
  print: Print,
): Promise<boolean> {
  const summary = new Summary();
  const startedAt = performance.now();
  let lastPrintedAt = startedAt;
  const minutes = () => (performance.now() - startedAt) / 60_000;
  const { from, count } = options;
  const kept = KEPT_SEEDS.map(({ seed }) => seed).filter((seed) => seed < from || seed >= from + count);
  print(`Seeds ${from} to ${from + count - 1}, and ${kept.length} that once failed`);
  await runSeeds<SeedResult>({
    ...options,
    first: kept,
    program: { kind: "simulate", mutation: null, keepsTrace: false, ofKind: options.ofKind },
    onResult: (result) => {
      summary.add(result);
      if (result.flaw !== null) print(`seed ${result.seed} (${result.kind}): ${result.flaw}`);
      if (performance.now() - lastPrintedAt > PROGRESS_EVERY) {
        lastPrintedAt = performance.now();
        print(`${summary.seeds} of ${kept.length + count} seeds, ${Math.round(summary.seeds / minutes())} a minute`);
      }
      return summary.failed.length < MAX_FAILURES;
    },
  });
  const rate = Math.round(summary.seeds / minutes());
  const kinds = [...summary.kinds].map(([kind, count]) => `${count} ${kind}`).join(", ");
  print("");
  print("Occurrences of each fault:");
  print(summary.table());
  print("");
  print(`${summary.seeds} seeds (${kinds}), ${summary.steps} steps, ${rate} seeds a minute`);
  const [first, ...others] = summary.failed.toSorted((a, b) => a.seed - b.seed);
  if (first !== undefined) {
    await showSeed(first.seed, options.ofKind, print);
    for (const { seed, flaw } of others) print(`Seed ${seed}: ${flaw}`);
    print(
      `${summary.failed.length} seeds failed. The trace above is of seed ${first.seed}; to run it alone: pnpm simulate --seed ${first.seed}${options.ofKind === undefined ? "" : ` --kind ${options.ofKind}`}`,
    );
    return false;
  }
  if (count >= ALL_FAULTS_FROM_SEEDS && options.ofKind === undefined && summary.notOccurred.length > 0) {
    print(`Faults that never occurred: ${summary.notOccurred.join(", ")}`);
    return false;
  }
  print("Every check held.");
  return true;
}

/** Runs one seed and prints its trace: time, actor, action, and the fault after `!`. */
export async function showSeed(seed: number, ofKind: string | undefined, print: Print): Promise<boolean> {
  let found: SeedResult | null = null;
  await runSeeds<SeedResult>({
    from: seed,
    count: 1,
    processes: 1,
    program: { kind: "simulate", mutation: null, keepsTrace: true, ofKind },
    onResult: (result) => {
      found = result;
      return false;
    },
  });
  const { trace, flaw, hash } = found as unknown as SeedResult;
  for (const line of trace) print(line);
  print("");
  print(flaw === null ? `Seed ${seed}: every check held (trace ${hash}).` : `Seed ${seed}: ${flaw} (trace ${hash}).`);
  return flaw === null;
}
