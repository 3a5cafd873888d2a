import { MAX_PARAMETER_BYTES, MAX_TRANSACTION_BYTES, utf8Length } from "@sluice/core";
import { documentsEntry, type PartToRecord } from "@sluice/db";

/** `recordParts` binds the ids of a transaction's documents this often. */
const ID_COPIES = 4;
/** Bytes of a part's own statement, hash, counts and key, in all lists that it stands in. */
const PART_BYTES = 700;

/**
 * Cuts a job's parts into transactions near 5 MB, each a list of chunks whose documents one statement
 * takes in (1.9 MB). A part's contexts, and the lists of ids that go beside them, are counted too.
 */
export function chunkParts(parts: readonly PartToRecord[]): PartToRecord[][][] {
  const transactions: PartToRecord[][][] = [];
  let transactionBytes = Infinity;
  let chunkBytes = Infinity;
  for (const part of parts) {
    const bytes = utf8Length(documentsEntry(part)) + 1;
    const bound =
      bytes + utf8Length(part.contexts) + ID_COPIES * utf8Length(JSON.stringify(part.documents)) + PART_BYTES;
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
