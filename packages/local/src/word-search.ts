/** Okapi BM25 with its usual constants. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function countWords(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/**
 * The rank, from 1, that plain word search (BM25, no stemming) gives each of a document's contexts, with these contexts
 * as the whole corpus. Ties go by index.
 */
export function wordSearchRanks(query: string, contexts: readonly string[]): number[] {
  const texts = contexts.map(wordsOf);
  const counts = texts.map(countWords);
  const averageLength = texts.reduce((sum, words) => sum + words.length, 0) / Math.max(1, texts.length);
  const scores = texts.map(() => 0);
  for (const word of new Set(wordsOf(query))) {
    const holding = counts.filter((count) => count.has(word)).length;
    if (holding === 0) continue;
    const rarity = Math.log(1 + (texts.length - holding + 0.5) / (holding + 0.5));
    for (const [index, words] of texts.entries()) {
      const count = counts[index]?.get(word) ?? 0;
      const damping = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * words.length) / averageLength);
      scores[index] = (scores[index] ?? 0) + (rarity * count * (SATURATION + 1)) / (count + damping);
    }
  }
  const order = scores
    .map((score, index) => ({ score, index }))
    .toSorted((a, b) => b.score - a.score || a.index - b.index);
  const ranks = scores.map(() => 0);
  for (const [position, { index }] of order.entries()) ranks[index] = position + 1;
  return ranks;
}
