/** What is wrong with a list, or `null`: it has these lines, in this order. `shown` is undefined if it was not answered to its end. */
export function listFlaw(
  where: string,
  expected: readonly string[],
  shown: readonly string[] | undefined,
): string | null {
  if (shown === undefined) return `${where} are not answered, or not to their end`;
  const at = expected.findIndex((line, index) => line !== shown[index]);
  if (at >= 0) return `${where} have at index ${at}: ${shown[at]}, not ${expected[at]}`;
  return shown.length === expected.length ? null : `${where} go on behind their end with ${shown[expected.length]}`;
}

/** The same for a list in any order: each line as often as it is expected. */
export function bagFlaw(
  where: string,
  expected: readonly string[],
  shown: readonly string[] | undefined,
): string | null {
  return listFlaw(`${where}, sorted,`, expected.toSorted(), shown?.toSorted());
}
