import type { Scorer } from "../types.ts";

const STAND_INS: Readonly<Partial<Record<Scorer, string>>> = {
  minilm:
    "Local scores come from MiniLM (English only) and differ from bge-m3's. MiniLM reads the first 256 tokens of a text.",
  lexical: "Local scores count shared words and differ from bge-m3's.",
  instant: "Local scores are text lengths and differ from bge-m3's.",
};

/** Names the local stand-in that computes scores; `null` if Workers AI does. */
export function describeStandIn(scorer: Scorer): string | null {
  return STAND_INS[scorer] ?? null;
}
