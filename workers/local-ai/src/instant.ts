/**
 * A score in [0, 1) in constant time, for benchmarks. It depends on the context's index and its text's length in UTF-16
 * units, and has at most four decimals.
 */
export function instantScore(index: number, length: number): number {
  return ((index * 7_919 + length * 104_729) % 9_973) / 10_000;
}
