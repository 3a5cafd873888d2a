import type { Scorer } from "../types.ts";

const STAND_INS: Readonly<Partial<Record<Scorer, string>>> = {
  minilm: "Local scores come from MiniLM, English only; bge-m3's differ. MiniLM reads the first 256 tokens of a text.",
  lexical: "Local scores come from words in common; bge-m3's differ.",
  instant: "Local scores come from the lengths of texts; bge-m3's differ.",
};

/** Says which stand-in computes scores on one machine; `null` where Workers AI does. */
export function describeStandIn(scorer: Scorer): string | null {
  return STAND_INS[scorer] ?? null;
}
