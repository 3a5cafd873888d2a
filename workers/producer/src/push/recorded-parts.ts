import type { SubmissionId } from "@sluice/core";
import { readPartHashes, type Database } from "@sluice/db";

/** Parts that are looked up at once. */
const WINDOW = 500;

/** Which parts of a submission are recorded, asked for in their order. */
export class RecordedParts {
  readonly #db: Database;
  readonly #submission: SubmissionId;
  #hashes = new Map<number, string>();
  /** The first part that was not looked up yet. */
  #end = 0;

  constructor(db: Database, submission: SubmissionId) {
    this.#db = db;
    this.#submission = submission;
  }

  /** The hash under which a part is recorded; `null`: it is not. Recorded meanwhile, it may say so too. */
  async hashOf(part: number): Promise<string | null> {
    if (part >= this.#end) {
      const rows = await readPartHashes(this.#db, this.#submission, part, WINDOW);
      this.#hashes = new Map(rows.map((row) => [row.part, row.hash]));
      const last = rows.at(-1);
      this.#end = rows.length < WINDOW || last === undefined ? Infinity : last.part + 1;
    }
    return this.#hashes.get(part) ?? null;
  }
}
