import { fractionOf } from "./hash.ts";

/** Maximum difference between texts with the same words: far less than that of one shared word. */
const TIE_BREAK = 0.001;
/** The only weighting: longer words count more than short ones. */
const MAX_WORD_WEIGHT = 8;

/** The words of a text, in lower case, with their counts. */
function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function weigh(word: string, count: number): number {
  return count * Math.min(word.length, MAX_WORD_WEIGHT);
}

function length(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const [word, count] of counts) sum += weigh(word, count) ** 2;
  return Math.sqrt(sum);
}

/**
 * Scores a query's contexts by shared words: the cosine of their weighted word counts, in [0, 1]. Each score depends
 * exactly on the query and that context only, so that tests can recompute it. Two different contexts hardly ever have
 * the same score.
 */
export function lexicalScores(query: string, contexts: readonly { readonly text: string }[]): number[] {
  const queryWords = countWords(query);
  const queryLength = length(queryWords);
  return contexts.map(({ text }) => {
    const words = countWords(text);
    let product = 0;
    for (const [word, count] of queryWords) {
      const shared = words.get(word);
      if (shared !== undefined) product += weigh(word, count) * weigh(word, shared);
    }
    const cosine = product === 0 ? 0 : Math.min(1, product / (queryLength * length(words)));
    return (1 - TIE_BREAK) * cosine + TIE_BREAK * fractionOf(`${query}\0${text}`);
  });
}

/** The score of one pair, equal to that of `lexicalScores` in any batch. */
export function lexicalScore(query: string, text: string): number {
  return lexicalScores(query, [{ text }])[0] ?? 0;
}
