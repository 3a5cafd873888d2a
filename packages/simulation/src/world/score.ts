/**
 * Computes a pair's score in [0, 1) from its two texts alone (FNV-1a), so that a score under a wrong document or
 * context is a wrong number.
 */
export function scoreOf(query: string, text: string): number {
  let hash = 0x811c9dc5;
  for (const part of [query, "\n", text]) {
    for (let i = 0; i < part.length; i += 1) hash = Math.imul(hash ^ part.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0) / 2 ** 32;
}
