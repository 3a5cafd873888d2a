import fc from "fast-check";
import { expect, it } from "vitest";
import { rankScores } from "../../src/score/rank-scores.ts";

it("scores are ordered best first, each with its own index and id", () => {
  expect(rankScores([0.1, 0.9, 0.5], ["a", "b", "c"])).toEqual([
    [1, 0.9, "b"],
    [2, 0.5, "c"],
    [0, 0.1, "a"],
  ]);
  expect(rankScores([0.1, 0.9], null)).toEqual([
    [1, 0.9],
    [0, 0.1],
  ]);
});

it("ties are ordered by index for any scores", () => {
  expect(rankScores([0.5, 0.5, 0.5], null).map(([index]) => index)).toEqual([0, 1, 2]);
  const scores = fc.array(
    fc.oneof(fc.constantFrom(-1, -0, 0, 0.5), fc.double({ noNaN: true, noDefaultInfinity: true })),
    { minLength: 1 },
  );
  fc.assert(
    fc.property(scores, (list) => {
      const ranked = rankScores(list, null);
      expect(ranked.map(([index]) => index).toSorted((x, y) => x - y)).toEqual(list.map((_, index) => index));
      for (const [place, [index, score]] of ranked.entries()) {
        expect(score).toBe(list[index]);
        const next = ranked[place + 1];
        if (next !== undefined) expect(score > next[1] || (score === next[1] && index < next[0])).toBe(true);
      }
    }),
  );
});
