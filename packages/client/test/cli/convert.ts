import { formats, type Entry, type FormatName, type FormatOptions, type Line } from "../../src/cli/formats/index.ts";

/** Converts lines with a format. */
export async function convert(
  name: FormatName,
  texts: readonly (string | null)[],
  options: FormatOptions = {},
): Promise<Entry[]> {
  async function* lines(): AsyncGenerator<Line> {
    for (const [index, text] of texts.entries()) yield { number: index + 1, text };
  }
  const entries: Entry[] = [];
  for await (const entry of formats[name](lines(), options)) entries.push(entry);
  return entries;
}

export const found = (first: number, document: unknown, last = first) => ({ kind: "document", first, last, document });
export const refused = (first: number, detail: string, last = first) => ({ kind: "refused", first, last, detail });
