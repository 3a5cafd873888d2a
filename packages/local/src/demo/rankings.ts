import { pad } from "@sluice/client/terminal";
import type { SubmissionId } from "@sluice/core";
import * as z from "zod";
import { wordSearchRanks } from "../word-search.ts";
import { queryD1 } from "./d1.ts";
import { counted, cut } from "./figures.ts";
import { documentName, type FileDocument } from "./read-file.ts";

const MOST_SHOWN = 40;
/** Columns of a terminal. */
const QUERY_WIDTH = 38;
const CONTEXT_WIDTH = 62;
const SCORE = "  score  ";
const RANK = "rank by word search";
const SHORT_RANK = "by words";
const LEAST_TEXTS = 30;

export interface Layout {
  readonly query: number;
  readonly context: number;
  readonly rank: string;
}

/** How the table fits into a line of `width` cells: the texts give way, to 30 between them. */
export function layOut(width: number): Layout {
  const texts = (rank: string) => width - SCORE.length - 2 - rank.length;
  const rank = texts(RANK) >= QUERY_WIDTH + CONTEXT_WIDTH ? RANK : SHORT_RANK;
  const both = Math.min(QUERY_WIDTH + CONTEXT_WIDTH, Math.max(LEAST_TEXTS, texts(rank)));
  const query = Math.round((both * QUERY_WIDTH) / (QUERY_WIDTH + CONTEXT_WIDTH));
  return { query, context: both - query, rank };
}

/** A lookup by `collection` and `document_id` reads those documents only. */
const BEST = `SELECT document_id, context_index, score FROM best
  WHERE collection = 'default' AND document_id IN (SELECT value FROM json_each(?1))`;
const bestSchema = z.object({ document_id: z.string(), context_index: z.number(), score: z.number() });

/** A document of the file, with the submission that carried it. */
export interface PushedDocument {
  readonly document: FileDocument;
  readonly submission: SubmissionId;
}

/**
 * Reads each document's best context from D1, and puts the rank beside it that plain word search
 * gives the same context. A line has at most `width` cells of a terminal.
 */
export async function showRankings(url: string, pushed: readonly PushedDocument[], width: number): Promise<string> {
  const shown = pushed.slice(0, MOST_SHOWN).map(({ document, submission }) => ({
    name: documentName(document, submission),
    document,
  }));
  const rows = await queryD1(url, BEST, [JSON.stringify(shown.map(({ name }) => name))], bestSchema);
  const best = new Map(rows.map((row) => [row.document_id, row]));
  const layout = layOut(width);
  let elsewhere = 0;
  const lines = shown.flatMap(({ name, document }) => {
    const row = best.get(name);
    if (row === undefined) return [];
    const rank = wordSearchRanks(document.query, document.contexts)[row.context_index] ?? 0;
    if (rank > 1) elsewhere += 1;
    const context = document.contexts[row.context_index] ?? "";
    return `${column(document.query, layout.query)}  ${row.score.toFixed(3)}  ${column(context, layout.context)}  ${rank}`;
  });
  const more = pushed.length - shown.length;
  return [
    `${pad("query", layout.query, "left")}${SCORE}${pad("best context", layout.context, "left")}  ${layout.rank}`,
    ...lines,
    ...(more > 0 ? [`… and ${counted(more, "more document")}`] : []),
    `Word search puts another context first in ${elsewhere} of these ${lines.length}.`,
  ].join("\n");
}

const column = (text: string, width: number) => pad(cut(text, width), width, "left");
