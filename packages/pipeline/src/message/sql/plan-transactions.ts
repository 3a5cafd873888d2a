import { MAX_PARAMETER_BYTES, MAX_SHARED_TEXT_BYTES, MAX_TRANSACTION_BYTES, utf8Length } from "@sluice/core";
import type { PartToRecord, RecordingTransaction } from "./record-parts.ts";

/** How often `recordParts` binds the ids of a transaction's documents. */
const ID_COPIES = 3;
/** Bytes of a part's hash, counts and keys in all lists that contain them. */
const PART_BYTES = 1_000;
/** Bytes of a part's entry in the list that fills `documents`, without its rows. */
const ENTRY_BYTES = 100;

/** A `ContextsRow` that is being filled. */
interface OpenRow {
  readonly parts: PartToRecord[];
  readonly documents: Set<string>;
  textBytes: number;
}
interface OpenStatement {
  readonly contextsRows: OpenRow[];
  rowBytes: number;
}
interface OpenTransaction {
  readonly statements: OpenStatement[];
  bytes: number;
}

/**
 * Plans the transactions that record a job's parts, up to about 5 MB each. Consecutive parts share a row of `contexts`
 * up to 128 KB of texts. The size includes a part's texts and the lists of ids.
 */
export function planTransactions(parts: readonly PartToRecord[]): RecordingTransaction[] {
  const transactions: OpenTransaction[] = [];
  for (const part of parts) {
    const rowBytes = utf8Length(part.rows) + ENTRY_BYTES;
    const textBytes = utf8Length(part.texts);
    const bytes = rowBytes + textBytes + ID_COPIES * utf8Length(JSON.stringify(part.documentIds)) + PART_BYTES;
    const documents = part.documentIds.map((id) => `${part.collection}/${id}`);
    let transaction = transactions.at(-1);
    if (transaction === undefined || transaction.bytes + bytes > MAX_TRANSACTION_BYTES) {
      transaction = { statements: [], bytes: 0 };
      transactions.push(transaction);
    }
    let statement = transaction.statements.at(-1);
    if (statement === undefined || statement.rowBytes + rowBytes > MAX_PARAMETER_BYTES) {
      // 2 for the brackets of its list.
      statement = { contextsRows: [], rowBytes: 2 };
      transaction.statements.push(statement);
    }
    let row = statement.contextsRows.at(-1);
    if (row === undefined || !hasRoom(row, textBytes, documents)) {
      row = { parts: [], documents: new Set(), textBytes: 0 };
      statement.contextsRows.push(row);
    }
    row.parts.push(part);
    for (const document of documents) row.documents.add(document);
    transaction.bytes += bytes;
    statement.rowBytes += rowBytes;
    row.textBytes += textBytes;
  }
  return transactions;
}

/** Whether another part fits into a row. */
function hasRoom(row: OpenRow, textBytes: number, documents: readonly string[]): boolean {
  if (row.textBytes + textBytes > MAX_SHARED_TEXT_BYTES) return false;
  return !documents.some((document) => row.documents.has(document));
}
