import type { DocumentIn } from "../../types.ts";
import { NOT_UTF8, refused, type Entry, type Format } from "./format.ts";

interface Group {
  readonly id: string;
  readonly query: string;
  readonly first: number;
  last: number;
  readonly contexts: { readonly id: string; readonly text: string }[];
  /** A line of it that cannot be read spoils it: a document with a context less would be another one. */
  flaw: { readonly line: number; readonly detail: string } | null;
}

/**
 * Rows of query id, query, context id and text, with tabs between: consecutive rows of one query id
 * make a document. A row that names the columns may come first.
 */
export const tsv: Format = async function* (lines) {
  let group: Group | null = null;
  for await (const { number, text } of lines) {
    if (text !== null && text.trim() === "") continue;
    const columns = text?.split("\t") ?? [];
    if (number === 1 && columns[1]?.trim().toLowerCase() === "query") continue;
    const [id = "", query = "", contextId = "", ...rest] = columns;
    if (text === null || columns.length < 4) {
      const detail = text === null ? NOT_UTF8 : `${columns.length} of the columns query id, query, context id, text`;
      if (group === null || (text !== null && id !== group.id)) {
        yield refused(number, detail);
      } else {
        group.last = number;
        group.flaw ??= { line: number, detail };
      }
      continue;
    }
    if (group !== null && group.id !== id) {
      yield finish(group);
      group = null;
    }
    group ??= { id, query, first: number, last: number, contexts: [], flaw: null };
    group.last = number;
    // A text may hold tabs itself.
    group.contexts.push({ id: contextId, text: rest.join("\t") });
    if (query !== group.query)
      group.flaw ??= { line: number, detail: "the query differs from the one above for the same query id" };
  }
  if (group !== null) yield finish(group);
};

function finish({ id, query, first, last, contexts, flaw }: Group): Entry {
  if (flaw !== null) return { kind: "refused", first, last, detail: `line ${flaw.line}: ${flaw.detail}` };
  const document: DocumentIn = { id, query, contexts };
  return { kind: "document", first, last, document };
}
