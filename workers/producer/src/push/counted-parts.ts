import type { CountedPart } from "@sluice/pipeline/submission/sql/take-over-push.ts";

/** What is known about a part before it is sent. */
export interface PartStatus {
  readonly state: "recorded" | "staged" | "unknown";
  /** Its documents that `total` does not count yet: all of them, or none. */
  readonly uncounted: number;
}

/**
 * Which parts of a push `total` counted when this request began, asked for in their order.
 *
 * Staged parts are counted one by one, as they are staged, ahead of inline parts that come before them
 * but still wait for their call. Inline parts are counted in their order, whole calls at a time. So what
 * `total` counts besides the parts that are recorded or staged is the first of the others. All of it is
 * taken from one moment, at which no other request can raise `total` any more: a part that is recorded
 * later was counted before, or is sent by this request.
 */
export class CountedParts {
  readonly #known: Map<number, CountedPart & { readonly documents: number }>;
  /** Hashes of parts that were sent, or were about to be, and are neither recorded nor staged. */
  readonly #sent: Map<number, string>;
  /** Documents that `total` counts besides those of the known parts, and that no part was taken for yet. */
  #ahead: number;

  /** `total` as D1 has it; `known`: the parts that were recorded, staged or sent at that time. */
  constructor(total: number, known: readonly CountedPart[]) {
    const counted = known.flatMap(({ documents, ...part }) => (documents === null ? [] : [{ ...part, documents }]));
    this.#known = new Map(counted.map((part) => [part.part, part]));
    this.#sent = new Map(known.flatMap(({ part, hash, state }) => (state === "sent" ? [[part, hash]] : [])));
    this.#ahead = total - counted.reduce((sum, { documents }) => sum + documents, 0);
  }

  /** Takes the next part; `null`: the push that `total` counts has another part in its place. */
  take(part: number, hash: string, documents: number): PartStatus | null {
    const sent = this.#sent.get(part);
    this.#sent.delete(part);
    if (sent !== undefined && sent !== hash) return null;
    const known = this.#known.get(part);
    if (known !== undefined) {
      this.#known.delete(part);
      if (known.hash !== hash) return null;
      return { state: known.state === "recorded" ? "recorded" : "staged", uncounted: 0 };
    }
    if (this.#ahead === 0) return { state: "unknown", uncounted: documents };
    if (this.#ahead < documents) return null;
    this.#ahead -= documents;
    return { state: "unknown", uncounted: 0 };
  }

  /** Whether every part that `total` counts was taken. */
  get isAllTaken(): boolean {
    return this.#ahead === 0 && this.#known.size === 0 && this.#sent.size === 0;
  }
}
