/**
 * A 32-bit hash of a text: FNV-1a with a final mix, so that texts that differ only at the end get very different
 * hashes.
 */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number in [0, 1) that depends on the text only. */
export function fractionOf(text: string): number {
  return hash32(text) / 2 ** 32;
}

/** A permutation of `0 … count − 1` that depends on `seed` only. It is never the identity if there are two or more. */
export function shuffledIndexes(count: number, seed: string): number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  const start = hash32(seed);
  for (let i = count - 1; i > 0; i -= 1) {
    const other = mix(start + i) % (i + 1);
    const taken = order[i] ?? i;
    order[i] = order[other] ?? other;
    order[other] = taken;
  }
  return order.every((value, index) => value === index) ? order.toReversed() : order;
}
