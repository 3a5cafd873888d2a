import { availableParallelism } from "node:os";
import { beforeAll, describe, expect, it } from "vitest";
import type { SeedResult } from "../src/run/run-seed.ts";
import { runSeeds } from "../src/run/run-seeds.ts";
import { Summary } from "../src/run/summary.ts";

const processes = availableParallelism();

async function run(options: { from: number; count: number; processes: number; mutation?: string }) {
  const summary = new Summary();
  const hashes = new Map<number, string>();
  await runSeeds<SeedResult>({
    ...options,
    program: { kind: "simulate", mutation: options.mutation ?? null, keepsTrace: false },
    onResult: (result) => {
      summary.add(result);
      hashes.set(result.seed, result.hash);
      return result.flaw === null;
    },
  });
  return { summary, hashes };
}

describe("the simulation", () => {
  let all: Awaited<ReturnType<typeof run>>;
  beforeAll(async () => {
    all = await run({ from: 1, count: 500, processes });
  });

  it("keeps every promise in 500 seeds with every fault", () => {
    const { summary } = all;
    expect(summary.failed.map(({ seed, flaw }) => `seed ${seed}: ${flaw}`)).toEqual([]);
    expect(summary.seeds).toBe(500);
    expect(summary.notOccurred).toEqual([]);
  });

  it("repeats a seed exactly, whatever ran before", async () => {
    const later = await run({ from: 21, count: 20, processes: 1 });
    expect(later.hashes.size).toBe(20);
    for (const [seed, hash] of later.hashes) expect(all.hashes.get(seed), `seed ${seed}`).toBe(hash);
    expect(new Set(all.hashes.values()).size).toBe(500);
  });

  it("catches a broken product", async () => {
    const { summary } = await run({ from: 1, count: 50, processes: 1, mutation: "follow-up-drops-documents" });
    expect(summary.failed).toHaveLength(1);
    expect(summary.failed[0]?.flaw).toContain("has not ended and is in 0 open jobs");
  });

  it("catches API answers that differ from the database", async () => {
    const { summary } = await run({ from: 1, count: 50, processes: 1, mutation: "feed-page-overlooks" });
    expect(summary.failed).toHaveLength(1);
    expect(summary.failed[0]?.flaw).toContain("the pages of the feed");
  });
});
