/**
 * Splits a list into two pieces of nearly the same length. Splits it into three if its length is between 2^m and
 * 1½·2^m, because two pieces would then take one more level to reach single documents. Finding k bad ones among N this
 * way takes at most 2·k·log₂N + 2 calls.
 *
 * `batchesLeft` is how many more batches each document may be in, at least 1. If two or three pieces per level would
 * need more levels than that, there are more pieces. With one batch left, each document is alone.
 */
export function cut<T>(list: readonly T[], batchesLeft: number): T[][] {
  const power = 2 ** (Math.ceil(Math.log2(list.length)) - 1);
  let pieces = Math.min(list.length, list.length <= 1.5 * power ? 3 : 2);
  while (pieces ** batchesLeft < list.length) pieces += 1;
  const bounds = Array.from({ length: pieces + 1 }, (_, n) => Math.ceil((n * list.length) / pieces));
  return Array.from({ length: pieces }, (_, n) => list.slice(bounds[n], bounds[n + 1]));
}

/** Splits a list of two or more documents into halves. */
export function halve<T>(list: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(list.length / 2);
  return [list.slice(0, middle), list.slice(middle)];
}
