import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../src/configuration.ts";

const FOLDER = join(ROOT, "../shared/data/cranfield");

/** Whether the Cranfield documents are beside the checkout. They are not part of the repository. */
export const hasCranfield = existsSync(join(FOLDER, "rerank.ndjson"));

export interface CranfieldDocument {
  readonly id: string;
  readonly query: string;
  readonly contexts: readonly { readonly id: string; readonly text: string }[];
}

/** 225 lines, each a query with 20 abstracts in BM25 order. */
export function cranfieldLines(): string[] {
  return readFileSync(join(FOLDER, "rerank.ndjson"), "utf8").trim().split("\n");
}

/** The human relevance judgment of an abstract for a query; 0 if there is none. */
export function cranfieldGain(): (query: string, context: string) => number {
  const gains = new Map<string, number>();
  for (const line of readFileSync(join(FOLDER, "qrels.tsv"), "utf8").trim().split("\n")) {
    const [query, context, gain] = line.split("\t");
    gains.set(`${query} ${context}`, Number(gain));
  }
  return (query, context) => gains.get(`${query} ${context}`) ?? 0;
}

/** nDCG@10 of gains in rank order; `null` if nothing is relevant. */
export function ndcg(gains: readonly number[]): number | null {
  const dcg = (list: readonly number[]) =>
    list.slice(0, 10).reduce((sum, gain, index) => sum + (2 ** gain - 1) / Math.log2(index + 2), 0);
  const ideal = dcg(gains.toSorted((a, b) => b - a));
  return ideal === 0 ? null : dcg(gains) / ideal;
}
