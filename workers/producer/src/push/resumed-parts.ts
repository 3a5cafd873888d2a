import type { CountedPart } from "@sluice/pipeline/submission/sql/take-over-push.ts";

/** What is known about a part of a push that may have been interrupted. */
export interface PartStatus {
  readonly state: "recorded" | "staged" | "unknown";
  /** Its documents that `total` does not count yet: all of them, or none. */
  readonly uncounted: number;
}

/**
 * Which parts of a push `total` counted when this request began. Parts are taken in order.
 *
 * A staged part is counted when it is staged, before inline parts that precede it and still wait for their call. Inline
 * parts are counted in order, a whole call at a time. So apart from recorded and staged parts, `total` counts the first of
 * the others. All values are from one moment after which no other request can raise `total`: a part that is recorded later
 * was counted before, or is sent by this request.
 */
export class ResumedParts {
  readonly #known: Map<number, CountedPart & { readonly documentCount: number }>;
  /** Hashes of parts that may have been sent and are neither recorded nor staged. */
  readonly #sent: Map<number, string>;
  /** Documents that `total` counts besides those of known parts, and that are in no part taken so far. */
  #ahead: number;

  /** `total` as it is in D1; `known`: the parts that were recorded, staged or sent at that time. */
  constructor(total: number, known: readonly CountedPart[]) {
    const counted = known.flatMap(({ documentCount, ...part }) =>
      documentCount === null ? [] : [{ ...part, documentCount }],
    );
    this.#known = new Map(counted.map((part) => [part.part, part]));
    this.#sent = new Map(known.flatMap(({ part, hash, state }) => (state === "sent" ? [[part, hash]] : [])));
    this.#ahead = total - counted.reduce((sum, one) => sum + one.documentCount, 0);
  }

  /** Takes the next part; `null`: `total` counts another part with this number. */
  take(part: number, hash: string, documentCount: number): PartStatus | null {
    const sent = this.#sent.get(part);
    this.#sent.delete(part);
    if (sent !== undefined && sent !== hash) return null;
    const known = this.#known.get(part);
    if (known !== undefined) {
      this.#known.delete(part);
      if (known.hash !== hash) return null;
      return { state: known.state === "recorded" ? "recorded" : "staged", uncounted: 0 };
    }
    if (this.#ahead === 0) return { state: "unknown", uncounted: documentCount };
    if (this.#ahead < documentCount) return null;
    this.#ahead -= documentCount;
    return { state: "unknown", uncounted: 0 };
  }

  /** Whether every part that `total` counts was taken. */
  get isAllTaken(): boolean {
    return this.#ahead === 0 && this.#known.size === 0 && this.#sent.size === 0;
  }
}
