import type { FormatOptions } from "./format.ts";

export const COLUMNS = ["query id", "query", "context id", "text"] as const;

/** Names that files give each column, in lower case and without spaces, hyphens and underscores. */
const NAMES: readonly ReadonlySet<string>[] = [
  new Set(["queryid", "qid", "queryno", "qno", "questionid", "topicid", "topic", "id"]),
  new Set(["query", "querytext", "q", "question", "questiontext"]),
  new Set(["contextid", "cid", "passageid", "pid", "documentid", "docid", "docno", "did", "candidateid", "textid"]),
  new Set([
    "text",
    "context",
    "contexttext",
    "passage",
    "passagetext",
    "document",
    "doc",
    "candidate",
    "body",
    "content",
  ]),
];

/** For each of the four columns, where in a row it is. */
export type Order = readonly [number, number, number, number];

export const USUAL_ORDER: Order = [0, 1, 2, 3];

/**
 * Reads the first row as a header: the order of the columns, or `null` where the row is data. It is a
 * header if all four of its columns name columns, each another one, or if the caller says so: then
 * columns with other names take, in the usual order, the places that are left.
 */
export function readHeader(row: readonly string[], option: FormatOptions["header"]): Order | null {
  if (option === "no") return null;
  const names = row.map((name) => name.toLowerCase().replaceAll(/[\s_-]+/g, ""));
  const order = NAMES.map((known, usual) =>
    known.has(names[usual] ?? "") ? usual : names.findIndex((name) => known.has(name)),
  );
  const isWhole = row.length === COLUMNS.length && new Set(order).size === COLUMNS.length && !order.includes(-1);
  if (!isWhole && option !== "yes") return null;
  if (row.length !== COLUMNS.length) return USUAL_ORDER;
  const unnamed = [...COLUMNS.keys()].filter((place) => !order.includes(place));
  const [id = 0, query = 1, contextId = 2, text = 3] = order.map((place) => (place < 0 ? unnamed.shift() : place));
  return [id, query, contextId, text];
}
