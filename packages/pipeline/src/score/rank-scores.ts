/**
 * A context's score for a document: its index, the number, and its id if that is not the index. D1 stores scores in
 * this form, best first: the rank is the position in the list, from 1.
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
