/**
 * A context's number for a document: its index, the score, and its id where that is not the index.
 * This is the form in which D1 keeps them, best first: rank is the place in the list, from 1.
 */
export type RankedScore = readonly [index: number, score: number] | readonly [index: number, score: number, id: string];

/** Orders scores best first, ties by index. `scores[i]` belongs to context `i`; all are finite. */
export function rankScores(scores: readonly number[], contextIds: readonly string[] | null): RankedScore[] {
  return scores
    .map((score, index): RankedScore => {
      const id = contextIds?.[index];
      return id === undefined ? [index, score] : [index, score, id];
    })
    .toSorted(([i, a], [j, b]) => b - a || i - j);
}
