export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A text without white space and trailing commas, which formatting may add or remove. */
interface Bare {
  readonly text: string;
  /** The index of each character in the original text. */
  readonly indexes: readonly number[];
}

/** Finds every occurrence of a snippet in a text, ignoring white space. */
export function occurrencesOf(snippet: string, text: string): Span[] {
  const { text: whole } = bare(snippet);
  // Formatting may have added a trailing comma.
  const sought = whole.replace(/,$/, "");
  const { text: searched, indexes } = bare(text);
  if (sought === "") throw new Error("an empty snippet occurs everywhere");
  const found: Span[] = [];
  for (let at = searched.indexOf(sought); at >= 0; at = searched.indexOf(sought, at + sought.length)) {
    const end = (indexes[at + sought.length - 1] ?? 0) + 1;
    const comma = sought === whole ? "" : /^\s*,/.exec(text.slice(end))?.[0];
    if (comma !== undefined) found.push({ start: indexes[at] ?? 0, end: end + comma.length });
  }
  return found;
}

function bare(text: string): Bare {
  const kept = [...text.matchAll(/,\s*(?=[)\]}])|(\S)/g)].filter(([, character]) => character !== undefined);
  return { text: kept.map(([character]) => character).join(""), indexes: kept.map(({ index }) => index) };
}
