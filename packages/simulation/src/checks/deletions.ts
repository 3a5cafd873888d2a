import type { Change, SubmissionRow } from "./changes.ts";
import type { Transaction } from "./transaction.ts";
import { versionKey, type Submission, type Version, type VersionKey } from "./state.ts";

interface Known {
  /** In the order of their ids. */
  readonly submissions: ReadonlyMap<string, Submission>;
  readonly version: (key: VersionKey) => Version | null;
}

/** The deletions of collections in D1. */
export class Deletions {
  readonly #deletions = new Map<string, { readonly through: string; readonly isComplete: boolean }>();

  /** Collections with a deletion in progress. */
  get open(): string[] {
    return [...this.#deletions].filter(([, { isComplete }]) => !isComplete).map(([collection]) => collection);
  }

  /** Whether the deletion of its collection covers a submission. */
  covers({ row }: Submission): boolean {
    return row.id <= (this.#deletions.get(row.collection)?.through ?? "");
  }

  /** Whether such a deletion has ended: nothing of the submission may be left or arrive. */
  hasDeleted(submission: Submission): boolean {
    return this.covers(submission) && this.#deletions.get(submission.row.collection)?.isComplete === true;
  }

  /** Applies a change. Returns its flaw, or `null`. A deletion never covers less than before. */
  take(event: Change[1], change: Change, submissions: Known["submissions"]): string | null {
    const newest = [...submissions.keys()].at(-1);
    const [collection, through] = [String(change[2]), String(change[3])];
    const before = this.#deletions.get(collection);
    this.#deletions.set(collection, { through, isComplete: change[4] !== null });
    if (event === "delete") return `the deletion of ${collection} was deleted`;
    if (through === before?.through) return null;
    if (through < (before?.through ?? "")) return `the deletion of ${collection} covers less than before`;
    return through === newest ? null : `the deletion of ${collection} covers ${through}, but the newest is ${newest}`;
  }

  /** Returns the flaw in a change of a document, or `null`. */
  documentFlaw(
    event: Change[1],
    key: VersionKey,
    submission: Submission,
    { isOfDeletion }: Transaction,
  ): string | null {
    if (event === "insert" && this.hasDeleted(submission))
      return `${key} was recorded after its collection was deleted`;
    return event === "delete" && isOfDeletion && !this.covers(submission)
      ? `${key} was deleted with its collection, but it was pushed later`
      : null;
  }

  /** Returns the flaw in a push that another request takes over, or `null`. */
  takeOverFlaw(known: Submission, { id, holder }: SubmissionRow): string | null {
    return holder !== known.row.holder && holder !== "" && this.covers(known)
      ? `${id} was taken over after its collection was deleted`
      : null;
  }

  /**
   * Applies a recorded part. Returns its flaw, or `null`. It must be recorded with its documents, or without them if the
   * deletion of its collection covers it: then they are counted as canceled and forgotten.
   */
  takePart(event: Change[1], change: Change, known: Known): string | null {
    if (event !== "insert") return "a part was changed: parts are immutable";
    const submission = known.submissions.get(String(change[2]));
    if (submission === undefined) return `a part of a submission that nobody opened: ${change[2]}`;
    for (const id of JSON.parse(String(change[7])) as string[]) {
      const version = known.version(versionKey(submission.row.id, id));
      if (version === null) return `a part lists a document that nobody pushed: ${id}`;
      if (version.recorded) continue;
      if (!this.covers(submission)) return `${version.key} is not recorded with its part`;
      version.recorded = true;
      version.deleted = true;
      version.collection = submission.row.collection;
      for (const name of ["recorded", "canceled", "forgotten"] as const) submission[name] += 1;
    }
    return null;
  }
}
