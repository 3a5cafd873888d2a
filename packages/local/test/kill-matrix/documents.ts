import { lexicalScore } from "@sluice/local-ai/lexical";

export interface PushedDocument {
  readonly id: string;
  readonly query: string;
  readonly contexts: readonly { readonly id: string; readonly text: string }[];
}

const WORDS = ["river", "gate", "water", "lock", "stone", "mill", "barge", "rain", "level", "keeper", "weir", "spill"];
const CONTEXTS = 3;

/** Documents with unique texts, so that a misplaced score shows, and contexts of the given number of words. */
export function makeDocuments(name: string, count: number, words = 6): PushedDocument[] {
  const text = (seed: number, length: number) =>
    Array.from({ length }, (_, k) => WORDS[(seed * (k + 3) + k * k) % WORDS.length]).join(" ");
  return Array.from({ length: count }, (_, n) => ({
    id: `${name}-${n}`,
    query: `${text(n + 1, 6)} ${name} ${n}`,
    contexts: Array.from({ length: CONTEXTS }, (_unused, c) => ({
      id: `c${c}`,
      text: `${text(n * 7 + c, words)} ${name} ${n} ${c}`,
    })),
  }));
}

/** The same documents, one with a word in its query that triggers a fault in the stand-in. */
export function withWord(documents: readonly PushedDocument[], at: number, word: string): PushedDocument[] {
  return documents.map((document, n) => (n === at ? { ...document, query: `${word} ${document.query}` } : document));
}

export interface OwnScore {
  readonly context_id: string;
  readonly context_index: number;
  readonly score: number;
  readonly rank: number;
}

/** The scores of a document's own texts, best first. */
export function ownScores({ query, contexts }: PushedDocument): OwnScore[] {
  return contexts
    .map(({ id, text }, index) => ({ context_id: id, context_index: index, score: lexicalScore(query, text) }))
    .toSorted((a, b) => b.score - a.score || a.context_index - b.context_index)
    .map((one, index) => ({ ...one, rank: index + 1 }));
}
