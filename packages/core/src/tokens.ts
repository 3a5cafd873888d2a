import { SCORING_MODELS, type ModelName } from "./models.ts";

/**
 * Estimates the input tokens that Workers AI bills for a document: each context with its query.
 *
 * The service does not document whether a query counts once per document or once per context, so this assumes the more
 * expensive case. A text counts up to the model's window (8,192 tokens for bge-m3); the rest is truncated.
 */
export function estimateTokens(model: ModelName, query: string, contexts: readonly string[]): number {
  const { windowTokens } = SCORING_MODELS[model];
  let tokens = contexts.length * Math.min(estimateTextTokens(query), windowTokens);
  for (const context of contexts) tokens += Math.min(estimateTextTokens(context), windowTokens);
  return tokens;
}

/** The assumptions of `estimateTokens`, in a sentence for people and programs. */
export const TOKEN_ASSUMPTION =
  "tokens are estimated: a query counts again with each of its contexts, and a token is 4 characters of English, " +
  "2 accented Latin letters, 2.5 letters of another alphabet, or 1 character of Chinese, Japanese or Korean";

/** The weight of a character, in twentieths of a token. */
const ASCII = 5;
const ACCENTED_LATIN = 10;
const OTHER_ALPHABET = 8;
const CJK_AND_UNKNOWN = 20;

/**
 * Estimates the tokens of one text from the script of its characters, rounded up.
 *
 * bge-m3 has the vocabulary of XLM-RoBERTa. Characters per token of that vocabulary on the 2,009 sentences of
 * FLORES-200, from the token and character counts that Petrov et al. published with "Language Model Tokenizers
 * Introduce Unfairness Between Languages" (github.com/AleksandarPetrov/tokenization-fairness): English 4.3, German 4.3,
 * Czech 3.6, Russian 4.0, Hindi 3.4, Arabic 3.3, Hebrew 3.0, Thai 3.9, Korean 1.9, Japanese 1.7, Chinese 1.4 to 1.5.
 * The weights here give fewer characters per token than each of these, because short texts and names take more tokens
 * than sentences do.
 */
export function estimateTextTokens(text: string): number {
  let twentieths = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    twentieths += unit < 0x80 ? ASCII : weightOf(unit);
  }
  return Math.ceil(twentieths / 20);
}

/** The weight of a UTF-16 unit. A low surrogate weighs nothing: its character counts with the high one. */
function weightOf(unit: number): number {
  if (unit >= 0xdc00 && unit <= 0xdfff) return 0;
  if (unit <= 0x024f || (unit >= 0x1e00 && unit <= 0x1eff) || isCombiningMark(unit)) return ACCENTED_LATIN;
  return isOtherAlphabet(unit) ? OTHER_ALPHABET : CJK_AND_UNKNOWN;
}

function isCombiningMark(unit: number): boolean {
  return unit >= 0x0300 && unit <= 0x036f;
}

/** Greek to Lao (including Cyrillic, Hebrew, Arabic and the scripts of India), Burmese, Georgian and Khmer. */
function isOtherAlphabet(unit: number): boolean {
  return (
    (unit >= 0x0370 && unit <= 0x0eff) ||
    (unit >= 0x1000 && unit <= 0x10ff) ||
    (unit >= 0x1780 && unit <= 0x17ff) ||
    (unit >= 0x1f00 && unit <= 0x1fff)
  );
}
