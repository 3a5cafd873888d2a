import { rowPerDocument } from "../baselines/row-per-document.ts";
import { tutorial } from "../baselines/tutorial.ts";
import type { Sqlite } from "../d1/sqlite.ts";
import type { Configuration } from "../world/configuration.ts";
import { fireUntil } from "../world/cron.ts";
import { MINUTE, World } from "../world/world.ts";
import { BaselineDesign } from "./baseline-design.ts";
import { DESIGNS, type Design, type DesignName } from "./design.ts";
import { judge, type Tally } from "./judge.ts";
import { carryOut, drawPlan, type PlannedPush } from "./plan.ts";
import { SluiceDesign } from "./sluice-design.ts";

export interface ComparedSeed {
  readonly seed: number;
  /** The broken rule in Sluice, or the failure of a baseline's run; `null` if there is none. */
  readonly flaw: string | null;
  readonly tallies: Readonly<Record<DesignName, Tally>>;
}

const BASELINES = {
  tutorial,
  "row-per-document": rowPerDocument("position"),
  "row-per-document-by-id": rowPerDocument("id"),
} as const;

/** The tables of the baselines. Both variants of row per document share theirs. */
export const BASELINE_TABLES: readonly string[] = [...tutorial.tables, ...BASELINES["row-per-document"].tables];

/**
 * Runs a seed with each design, with the same pushes at the same times and the same fault rates, and judges the final
 * state that each one reports.
 */
export async function compareSeed(seed: number, sqlite: Sqlite, options: CompareOptions): Promise<ComparedSeed> {
  const tallies = new Map<DesignName, Tally>();
  let flaw: string | null = null;
  for (const name of DESIGNS) {
    const { tally, flaw: found } = await runDesign(name, seed, sqlite, options);
    tallies.set(name, tally);
    if (found !== null) flaw ??= `${name}: ${found}`;
  }
  return { seed, flaw, tallies: Object.fromEntries(tallies) as Record<DesignName, Tally> };
}

interface CompareOptions {
  readonly faultless: boolean;
  readonly configuration: Configuration;
}

async function runDesign(name: DesignName, seed: number, sqlite: Sqlite, { faultless, configuration }: CompareOptions) {
  sqlite.clear();
  const world = new World(seed, sqlite, {
    keepsTrace: false,
    kind: faultless ? "calm" : null,
    isCompared: true,
    configuration,
  });
  const stop = () => world.flaw !== null;
  const faultsEnd = world.timeline.now + world.random.spread(5, 240) * MINUTE;
  const plan = drawPlan(world, faultsEnd);
  const paid = new Map<string, number>();
  world.onPaid = ({ query }) => paid.set(query, (paid.get(query) ?? 0) + 1);

  const design = designOf(name, world, plan);
  carryOut(plan, world, design.pushing);
  if (design.cron !== null) fireUntil(world, design.cron, faultsEnd);
  await world.timeline.runUntil(faultsEnd, stop);
  if (!stop()) {
    world.endFaults();
    design.pushing.settle();
    await design.becomeQuiet(stop);
  }
  return { tally: await judge(design, paid), flaw: world.flaw };
}

function designOf(name: DesignName, world: World, plan: readonly PlannedPush[]): Design {
  if (name === "sluice") return new SluiceDesign(world);
  return new BaselineDesign(
    world,
    BASELINES[name],
    plan.map(({ push }) => push),
  );
}
