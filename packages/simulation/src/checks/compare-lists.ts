/**
 * Returns the flaw in a list, or `null` if it has exactly these lines in this order. `shown` is undefined if the list
 * was not answered to its end.
 */
export function listFlaw(
  where: string,
  expected: readonly string[],
  shown: readonly string[] | undefined,
): string | null {
  if (shown === undefined) return `${where} are not answered to their end`;
  const at = expected.findIndex((line, index) => line !== shown[index]);
  if (at >= 0) return `${where} have at index ${at}: ${shown[at]}, not ${expected[at]}`;
  return shown.length === expected.length ? null : `${where} continue after their end with ${shown[expected.length]}`;
}

/** The same for a list in any order: each line occurs as often as expected. */
export function bagFlaw(
  where: string,
  expected: readonly string[],
  shown: readonly string[] | undefined,
): string | null {
  return listFlaw(`${where}, sorted,`, expected.toSorted(), shown?.toSorted());
}
