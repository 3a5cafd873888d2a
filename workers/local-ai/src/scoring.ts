import type { Mode } from "./env.ts";
import type { ScoringRequest } from "./inputs.ts";
import { instantScore } from "./instant.ts";
import { lexicalScores } from "./lexical.ts";

/** Scores that need no model, one list for each request; `null` in mode `minilm`. */
export function scoreAtOnce(mode: Mode, requests: readonly ScoringRequest[]): number[][] | null {
  switch (mode) {
    case "minilm":
      return null;
    case "lexical":
      return requests.map(({ query, contexts }) => lexicalScores(query, contexts));
    case "instant":
      return requests.map(({ contexts }) => contexts.map(({ text }, index) => instantScore(index, text.length)));
  }
}

/** UTF-16 units that make a token of English, about. */
const UNITS_PER_TOKEN = 4;

/** About how many tokens a batch has: each context is read together with its query. */
export function estimateTokens(requests: readonly ScoringRequest[]): number {
  let units = 0;
  for (const { query, contexts } of requests) {
    units += query.length * contexts.length;
    for (const { text } of contexts) units += text.length;
  }
  return Math.ceil(units / UNITS_PER_TOKEN);
}
