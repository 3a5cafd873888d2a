import { describe, expect, it } from "vitest";
import { compareSeeds } from "../src/compare/compare.ts";
import { DESIGNS } from "../src/compare/design.ts";
import { emptyTally } from "../src/compare/judge.ts";

/** A process takes as long to start as twenty seeds, and other test files use the other cores. */
const processes = 1;

describe("the comparison", () => {
  it("reports the fate of the same documents under the same faults in each design", async () => {
    const { tallies, flaws } = await compareSeeds({ from: 1, count: 20, processes, faultless: false });
    expect(flaws).toEqual([]);
    expect(tallies.sluice).toMatchObject({ lost: 0, stranded: 0, wrong: 0, unrecorded: 0 });
    expect(tallies.sluice.documents).toBeGreaterThan(300);
    expect(tallies.sluice.paidTwice).toBeGreaterThan(0);
    // Exact numbers: a baseline's results change only if its code or the simulation changes.
    expect(tallies.tutorial).toEqual({
      documents: 397,
      lost: 45,
      stranded: 0,
      wrong: 6,
      failed: 0,
      paidTwice: 179,
      unrecorded: 179,
      paid: 744,
    });
    const rows = { documents: 397, lost: 4, stranded: 92, paidTwice: 103, unrecorded: 103, paid: 502 };
    expect(tallies["row-per-document"]).toEqual({ ...rows, wrong: 22, failed: 46 });
    expect(tallies["row-per-document-by-id"]).toEqual({ ...rows, wrong: 7, failed: 44 });
  });

  it("finds no error in any design without faults", async () => {
    const { tallies, flaws } = await compareSeeds({ from: 1, count: 60, processes, faultless: true });
    expect(flaws).toEqual([]);
    const { documents } = tallies.sluice;
    expect(documents).toBeGreaterThan(900);
    for (const name of DESIGNS) expect(tallies[name], name).toEqual({ ...emptyTally(), documents, paid: documents });
  });
});
