import { runSeeds } from "../run/run-seeds.ts";
import type { ComparedSeed } from "./compare-seed.ts";
import { DESIGNS, type DesignName } from "./design.ts";
import { addTally, emptyTally, type Tally } from "./judge.ts";

export interface Comparison {
  readonly seeds: number;
  readonly tallies: Readonly<Record<DesignName, Tally>>;
  /** The broken rule of each failed seed. */
  readonly flaws: readonly string[];
}

interface CompareOptions {
  readonly from: number;
  readonly count: number;
  readonly processes: number;
  /** Whether to run the same pushes without faults. */
  readonly faultless: boolean;
}

/** Runs seeds with every design and sums what happened to their documents. */
export async function compareSeeds(options: CompareOptions): Promise<Comparison> {
  const tallies = Object.fromEntries(DESIGNS.map((name) => [name, emptyTally()])) as Record<DesignName, Tally>;
  const flaws: string[] = [];
  let seeds = 0;
  await runSeeds<ComparedSeed>({
    ...options,
    program: { kind: "compare", faultless: options.faultless },
    onResult: (result) => {
      seeds += 1;
      for (const name of DESIGNS) addTally(tallies[name], result.tallies[name]);
      if (result.flaw !== null) flaws.push(`seed ${result.seed}: ${result.flaw}`);
      return true;
    },
  });
  return { seeds, tallies, flaws };
}

/** Prints the comparison as a table. Returns whether Sluice kept its promises. */
export async function compare(options: CompareOptions, print: (line: string) => void): Promise<boolean> {
  const { seeds, tallies, flaws } = await compareSeeds(options);
  for (const line of tableOf(tallies)) print(line);
  print("");
  print(
    `${seeds} seeds from ${options.from}, ${options.faultless ? "without faults" : "with the same pushes and fault rates for each design"}.`,
  );
  for (const flaw of flaws) print(flaw);
  const { lost, stranded, wrong, unrecorded } = tallies.sluice;
  return flaws.length === 0 && lost + stranded + wrong + unrecorded === 0;
}

const HEADS = ["design", "documents", "lost", "stranded", "wrong", "failed", "paid twice", "unrecorded", "calls each"];

/** Formats a Markdown table with aligned columns. */
function tableOf(tallies: Comparison["tallies"]): string[] {
  const rows = DESIGNS.map((name) => {
    const { documents, lost, stranded, wrong, failed, paidTwice, unrecorded, paid } = tallies[name];
    const counts = [documents, lost, stranded, wrong, failed, paidTwice, unrecorded].map((count) =>
      count.toLocaleString("en"),
    );
    return [name, ...counts, (paid / Math.max(1, documents)).toFixed(2)];
  });
  const widths = HEADS.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(HEADS), line(rule), ...rows.map(line)];
}
