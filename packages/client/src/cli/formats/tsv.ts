import type { DocumentIn } from "../../types.ts";
import { plural } from "../text.ts";
import { NOT_UTF8, refused, type Entry, type Format, type Location, type Refusal } from "./format.ts";
import { COLUMNS, readHeader, USUAL_ORDER } from "./tsv-header.ts";

interface Group {
  readonly id: string;
  readonly query: string;
  readonly first: number;
  last: number;
  readonly contexts: { readonly id: string; readonly text: string }[];
  readonly rows: number[];
  /**
   * The rows of one document. One unreadable row refuses all of them, because a document without one of its contexts is
   * a different document.
   */
  flaw: { readonly at: number; readonly detail: string } | null;
}

/**
 * Rows of query id, query, context id and text, separated by tabs. Consecutive rows with the same query id form a
 * document. The first row may be a header with the columns in any order.
 */
export const tsv: Format = async function* (lines, { header, onHeader } = {}) {
  let group: Group | null = null;
  let order = USUAL_ORDER;
  let begun = false;
  for await (const { number, text, flaw } of lines) {
    if (text !== null && text.trim() === "") continue;
    const columns = text?.split("\t") ?? [];
    const named = begun ? null : readHeader(columns, header);
    begun = true;
    if (named !== null) {
      order = named;
      onHeader?.({ line: number, names: columns });
      continue;
    }
    const [id = "", query = "", contextId = "", context = ""] = order.map((position) => columns[position]);
    if (text === null || columns.length !== COLUMNS.length) {
      const detail = text === null ? (flaw ?? NOT_UTF8) : wrongColumns(columns.length);
      if (group === null || (text !== null && id !== group.id)) {
        yield refused({ first: number, last: number }, detail);
      } else {
        group.last = number;
        group.flaw ??= { at: number, detail };
      }
      continue;
    }
    if (group !== null && group.id !== id) {
      yield finish(group);
      group = null;
    }
    group ??= { id, query, first: number, last: number, contexts: [], rows: [], flaw: null };
    group.last = number;
    group.contexts.push({ id: contextId, text: context });
    group.rows.push(number);
    if (query !== group.query)
      group.flaw ??= { at: number, detail: "the query differs from that of an earlier row with the same query id" };
  }
  if (group !== null) yield finish(group);
};

function wrongColumns(count: number): string {
  const extra = count > COLUMNS.length ? "; a text cannot contain tabs" : "";
  return `${plural(count, "column")}, expected ${COLUMNS.length} separated by tabs: ${COLUMNS.join(", ")}${extra}`;
}

function finish({ id, query, first, last, contexts, rows, flaw }: Group): Entry {
  if (flaw !== null) return { kind: "refused", first, last, ...flaw };
  const document: DocumentIn = { id, query, contexts };
  const entry = { kind: "document", first, last, document } as const;
  // Consecutive lines need no list of line numbers.
  return last - first + 1 === rows.length ? entry : { ...entry, rows };
}

/** Maps `/contexts/1/text: …` of a document to a column of a row. Several errors are mapped one by one. */
export function explainTsv({ first, rows }: Location, detail: string): Refusal {
  let at: number | undefined;
  const parts = detail.split(/; (?=\/)/).map((part) => {
    const [, name = "", index, inner, rest = ""] = POINTER.exec(part) ?? [];
    const column = inner === undefined ? { id: COLUMNS[0], query: COLUMNS[1] }[name] : INNER[inner];
    const line = index === undefined ? first : (rows?.[Number(index)] ?? first + Number(index));
    const words = rest === "" ? part : column === undefined ? rest : `column ${column}: ${rest}`;
    at ??= line;
    return line === at ? words : `line ${line}, ${words}`;
  });
  return { detail: parts.join("; "), at };
}

const POINTER = /^\/(id|query|contexts)(?:\/(\d+)(?:\/(id|text))?)?: (.*)$/s;
const INNER: Readonly<Record<string, string>> = { id: COLUMNS[2], text: COLUMNS[3] };
