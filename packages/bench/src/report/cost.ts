import type { Usage } from "../measures/operations.ts";

/** List prices in dollars, free tiers ignored (developers.cloudflare.com, November 2026). */
export const PRICE = {
  queueOperation: 0.4 / 1e6,
  rowWritten: 1 / 1e6,
  rowRead: 0.001 / 1e6,
  request: 0.3 / 1e6,
  gigabyteMonth: 0.75,
  bgeM3Token: 0.012 / 1e6,
  rerankerToken: 0.0031 / 1e6,
};

/** What a million documents cost besides tokens and storage. */
export function dollarsPerMillion({ rowsWritten, rowsRead, queueOperations, requests }: Usage): number {
  const each =
    rowsWritten * PRICE.rowWritten +
    rowsRead * PRICE.rowRead +
    queueOperations * PRICE.queueOperation +
    requests * PRICE.request;
  return each * 1e6;
}

/** A document of 1.5 KB with 5 contexts, four characters a token, the query read with each context. */
export const TOKENS_A_DOCUMENT = Math.round((1_400 + 5 * 60) / 4);
