import * as z from "zod";

/** What Sluice knows about a model that can score a query against contexts through the Batch API. */
interface ScoringModel {
  /** Tokens of one text beyond which the model cuts it, or refuses it without `truncate_inputs`. */
  readonly windowTokens: number;
}

/**
 * The models a document may name. bge-m3 is the one batchable model whose input is a query with
 * contexts; its catalogue page says 60,000 tokens, the model itself takes 8,192 a text.
 */
export const SCORING_MODELS = {
  "@cf/baai/bge-m3": { windowTokens: 8_192 },
} as const satisfies Record<string, ScoringModel>;

export type ModelName = keyof typeof SCORING_MODELS;
export const DEFAULT_MODEL: ModelName = "@cf/baai/bge-m3";
export const modelNames = Object.keys(SCORING_MODELS) as [ModelName, ...ModelName[]];
export const modelSchema = z.enum(modelNames);

/** SentencePiece's own bound on the length of a piece, in characters: no token of bge-m3 is longer. */
const MAX_TOKEN_LENGTH = 16;

/**
 * The fewest tokens a text can have: at least one a word, and none longer than a piece may be.
 * A text over the window by this count is over it for sure.
 */
export function fewestTokens(text: string): number {
  let words = 0;
  let characters = 0;
  for (const word of text.matchAll(/\S+/g)) {
    words += 1;
    characters += word[0].length;
  }
  return Math.max(words, Math.ceil(characters / MAX_TOKEN_LENGTH));
}

/** Whether a text is beyond the model's window whichever way it is cut into tokens. */
export function isSurelyTooLong(model: ModelName, text: string): boolean {
  const { windowTokens } = SCORING_MODELS[model];
  return text.length > windowTokens && fewestTokens(text) > windowTokens;
}
