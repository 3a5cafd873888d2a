import type { Document, Sluice, Submission } from "@sluice/client/library";
import { fit, oneLine, pad, plural } from "@sluice/client/terminal";
import { wordSearchRanks } from "../word-search.ts";

const MAX_SHOWN = 40;
/** Terminal columns. */
const QUERY_WIDTH = 38;
const CONTEXT_WIDTH = 62;
const SCORE = "  score  ";
const RANK = "rank by word search";
const SHORT_RANK = "by words";
const MIN_TEXTS = 30;

export interface Layout {
  readonly query: number;
  readonly context: number;
  readonly rank: string;
}

/** Fits the table to `width` cells per line. The texts shrink, down to 30 cells in total. */
export function layOut(width: number): Layout {
  const texts = (rank: string) => width - SCORE.length - 2 - rank.length;
  const rank = texts(RANK) >= QUERY_WIDTH + CONTEXT_WIDTH ? RANK : SHORT_RANK;
  const both = Math.min(QUERY_WIDTH + CONTEXT_WIDTH, Math.max(MIN_TEXTS, texts(rank)));
  const query = Math.round((both * QUERY_WIDTH) / (QUERY_WIDTH + CONTEXT_WIDTH));
  return { query, context: both - query, rank };
}

/**
 * Formats the best context of each of a submission's first documents, with the rank that plain word search gives the
 * same context. A line has at most `width` terminal cells.
 */
export async function showRankings(
  client: Pick<Sluice, "results">,
  { id, counts }: Submission,
  { width, signal }: { readonly width: number; readonly signal: AbortSignal },
): Promise<string> {
  const shown: Document[] = [];
  for await (const document of client.results(id, {
    status: "succeeded",
    include: ["text"],
    limit: MAX_SHOWN,
    signal,
  })) {
    shown.push(document);
    if (shown.length === MAX_SHOWN) break;
  }
  const layout = layOut(width);
  let elsewhere = 0;
  const lines = shown.flatMap(({ query, scores }) => {
    const [best] = scores;
    if (best === undefined) return [];
    const contexts = scores.toSorted((a, b) => a.context_index - b.context_index).map(({ text }) => text ?? "");
    const rank = wordSearchRanks(query, contexts)[best.context_index] ?? 0;
    if (rank > 1) elsewhere += 1;
    return `${column(query, layout.query)}  ${best.score.toFixed(3)}  ${column(best.text ?? "", layout.context)}  ${rank}`;
  });
  const more = counts.succeeded - shown.length;
  return [
    `${pad("query", layout.query, "left")}${SCORE}${pad("best context", layout.context, "left")}  ${layout.rank}`,
    ...lines,
    ...(more > 0 ? [`… and ${plural(more, "more document")}`] : []),
    `Word search ranks another context first in ${elsewhere} of these ${lines.length}.`,
  ].join("\n");
}

/** Formats one line of exactly `width` cells. */
export function column(text: string, width: number): string {
  return pad(fit(oneLine(text).trim(), width), width, "left");
}
