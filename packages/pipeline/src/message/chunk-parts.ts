import { MAX_PARAMETER_BYTES, MAX_SHARED_TEXT_BYTES, MAX_TRANSACTION_BYTES, utf8Length } from "@sluice/core";
import type { PartToRecord } from "./sql/record-parts.ts";

/** `recordParts` binds the ids of a transaction's documents this often. */
const ID_COPIES = 3;
/** Bytes of a part's hash, counts and keys, in all lists that they stand in. */
const PART_BYTES = 1_000;
/** Bytes of a part's entry in the list that `documents` is filled from, besides its rows. */
const ENTRY_BYTES = 100;

/**
 * Cuts a job's parts into transactions near 5 MB, each a list of chunks whose documents one statement
 * takes in (1.9 MB), each a list of rows of `contexts`: consecutive parts share one as far as 128 KB of
 * texts go, and no two documents of one id and collection lie in the same. A part's texts, and the lists
 * of ids that go beside them, are counted too.
 */
export function chunkParts(parts: readonly PartToRecord[]): PartToRecord[][][][] {
  const transactions: PartToRecord[][][][] = [];
  let transactionBytes = Infinity;
  let chunkBytes = Infinity;
  let textBytes = Infinity;
  let inRow = new Set<string>();
  for (const part of parts) {
    const bytes = utf8Length(part.rows) + ENTRY_BYTES;
    const texts = utf8Length(part.texts);
    const bound = bytes + texts + ID_COPIES * utf8Length(JSON.stringify(part.documents)) + PART_BYTES;
    const documents = part.documents.map((id) => `${part.collection}/${id}`);
    if (transactionBytes + bound > MAX_TRANSACTION_BYTES) {
      transactions.push([]);
      transactionBytes = 0;
      chunkBytes = Infinity;
    }
    const chunks = transactions.at(-1) as PartToRecord[][][];
    if (chunkBytes + bytes > MAX_PARAMETER_BYTES) {
      chunks.push([]);
      chunkBytes = 2;
      textBytes = Infinity;
    }
    const rows = chunks.at(-1) as PartToRecord[][];
    if (textBytes + texts > MAX_SHARED_TEXT_BYTES || documents.some((document) => inRow.has(document))) {
      rows.push([]);
      textBytes = 0;
      inRow = new Set();
    }
    (rows.at(-1) as PartToRecord[]).push(part);
    for (const document of documents) inRow.add(document);
    transactionBytes += bound;
    chunkBytes += bytes;
    textBytes += texts;
  }
  return transactions;
}
