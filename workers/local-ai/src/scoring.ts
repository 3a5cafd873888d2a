import { estimateTokens, type ModelName } from "@sluice/core";
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

/** The tokens of a batch, by the estimate of `sluice push --estimate`. */
export function batchTokens(model: ModelName, requests: readonly ScoringRequest[]): number {
  let tokens = 0;
  for (const { query, contexts } of requests) {
    tokens += estimateTokens(
      model,
      query,
      contexts.map(({ text }) => text),
    );
  }
  return tokens;
}
