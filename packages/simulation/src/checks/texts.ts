import type { Change } from "./changes.ts";
import type { Retention } from "./retention.ts";
import type { Transaction } from "./transaction.ts";

/** The rows of texts. */
export class Texts {
  #last = 0;

  /**
   * Applies a change. Returns its flaw, or `null`. A new row has a number that no row had before. Texts are immutable,
   * except when documents are deleted or retention takes them.
   */
  take(event: Change[1], change: Change, transaction: Transaction, retention: Retention): string | null {
    const id = Number(change[2]);
    if (event !== "insert") {
      if (transaction.isRetention) return retention.textsFlaw(event, id, transaction.deleted);
      return transaction.deleted.size > 0 ? null : `texts were ${event}d: they are immutable`;
    }
    if (id <= this.#last) return `the number ${id} of a row of texts was used before`;
    this.#last = id;
    return null;
  }
}
