import * as z from "zod";

/** Properties of a model that can score a query against contexts through the Batch API. */
interface ScoringModel {
  /** Maximum tokens of one text. The model truncates a longer one, or refuses it without `truncate_inputs`. */
  readonly windowTokens: number;
}

/**
 * The models that a push may name. bge-m3 is the only batchable model whose input is a query with contexts. Its catalog
 * page says 60,000 tokens; the model itself accepts 8,192 per text.
 */
export const SCORING_MODELS = {
  "@cf/baai/bge-m3": { windowTokens: 8_192 },
} as const satisfies Record<string, ScoringModel>;

export type ModelName = keyof typeof SCORING_MODELS;
export const DEFAULT_MODEL: ModelName = "@cf/baai/bge-m3";
export const modelNames = Object.keys(SCORING_MODELS) as [ModelName, ...ModelName[]];
export const modelSchema = z.enum(modelNames);

/** SentencePiece's limit on the length of a piece, in characters: no token of bge-m3 is longer. */
const MAX_TOKEN_LENGTH = 16;

/**
 * The minimum number of tokens of a text: at least one per word, and none longer than a piece may be. A text that
 * exceeds the window by this count is certainly too long.
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

/** Whether a text exceeds the model's window however it is tokenized. */
export function isSurelyTooLong(model: ModelName, text: string): boolean {
  const { windowTokens } = SCORING_MODELS[model];
  return text.length > windowTokens && fewestTokens(text) > windowTokens;
}
