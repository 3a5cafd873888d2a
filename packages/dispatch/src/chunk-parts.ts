import { MAX_PARAMETER_BYTES, MAX_TRANSACTION_BYTES, utf8Length } from "@sluice/core";
import type { PartToRecord } from "@sluice/db";

/** `recordParts` binds the list of a transaction's ids, hashes and counts this often. */
const LIST_COPIES = 6;
/** An entry of that list, besides its ids. */
const LIST_ENTRY_BYTES = 220;

/**
 * Cuts a job's parts into transactions near 5 MB, each a list of chunks that one statement takes in
 * (1.9 MB of bodies). The lists of ids that go beside them are counted too.
 */
export function chunkParts(parts: readonly PartToRecord[]): PartToRecord[][][] {
  const transactions: PartToRecord[][][] = [];
  let transactionBytes = Infinity;
  let chunkBytes = Infinity;
  for (const part of parts) {
    const bytes = utf8Length(part.body) + 1;
    const listBytes = LIST_ENTRY_BYTES + utf8Length(JSON.stringify(part.documents));
    const bound = bytes + LIST_COPIES * listBytes;
    if (transactionBytes + bound > MAX_TRANSACTION_BYTES) {
      transactions.push([]);
      transactionBytes = 0;
      chunkBytes = Infinity;
    }
    const chunks = transactions.at(-1) as PartToRecord[][];
    if (chunkBytes + bytes > MAX_PARAMETER_BYTES) {
      chunks.push([]);
      chunkBytes = 2;
    }
    (chunks.at(-1) as PartToRecord[]).push(part);
    transactionBytes += bound;
    chunkBytes += bytes;
  }
  return transactions;
}
