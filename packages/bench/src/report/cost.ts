import { DEFAULT_MODEL, estimateTokens, PRICES } from "@sluice/core";
import { makeDocuments, MIDDLE } from "../documents.ts";
import type { Usage } from "../measures/operations.ts";

/** The cost of a million documents without tokens and storage. */
export function dollarsPerMillion({ rowsWritten, rowsRead, queueOperations, requests }: Usage): number {
  const each =
    rowsWritten * PRICES.rowWritten +
    rowsRead * PRICES.rowRead +
    queueOperations * PRICES.queueOperation +
    requests * PRICES.workerRequest;
  return each * 1e6;
}

/** The tokens of a document of 1.5 KB with 5 contexts. */
export function tokensPerDocument(): number {
  const [document] = makeDocuments(MIDDLE, 1, 1);
  return document === undefined ? 0 : estimateTokens(DEFAULT_MODEL, document.query, document.contexts);
}
