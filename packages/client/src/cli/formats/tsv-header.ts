import type { FormatOptions } from "./format.ts";

export const COLUMNS = ["query id", "query", "context id", "text"] as const;

/** Common names of each column, in lower case without spaces, hyphens and underscores. */
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

/** The position in a row of each of the four columns. */
export type Order = readonly [number, number, number, number];

export const USUAL_ORDER: Order = [0, 1, 2, 3];

/**
 * Reads the first row as a header. Returns the order of the columns, or `null` if the row is data. It is a header if
 * its four cells name four different columns, or if the caller says so: then columns with unknown names take the
 * remaining positions in the usual order.
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
  const unnamed = [...COLUMNS.keys()].filter((position) => !order.includes(position));
  const [id = 0, query = 1, contextId = 2, text = 3] = order.map((position) =>
    position < 0 ? unnamed.shift() : position,
  );
  return [id, query, contextId, text];
}
