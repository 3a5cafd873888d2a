import type { Document, Page } from "./types.ts";

/** Milliseconds. An empty answer that arrives sooner shows that the server did not wait. */
const MIN_WAIT_MS = 1_000;

/** Where a feed begins without a cursor. */
export type FeedStart = "start" | "now";

export interface FeedIo {
  /**
   * Reads from a cursor, or from the start of the feed. The server answers an empty page at once at the end of the
   * feed.
   */
  readonly readPage: (
    at: { readonly cursor: string } | { readonly from: FeedStart },
    wait: number,
  ) => Promise<Page<Document>>;
  /** Seconds that the server may wait for new documents. */
  readonly patience: number;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly now: () => number;
}

/**
 * An endless iteration over documents as they end, across submissions, each at least once. `cursor` is where to
 * continue. It moves past a document only when the next one is requested, so a program that stores it after processing
 * a document loses none.
 */
export class Feed implements AsyncIterable<Document> {
  readonly #io: FeedIo;
  #cursor: string | undefined;
  readonly #from: FeedStart;

  constructor(io: FeedIo, cursor: string | undefined, from: FeedStart) {
    this.#io = io;
    this.#cursor = cursor;
    this.#from = from;
  }

  /** `null` if nothing was read yet. */
  get cursor(): string | null {
    return this.#cursor ?? null;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Document, void, undefined> {
    const { readPage, patience, sleep, now } = this.#io;
    for (;;) {
      const asked = now();
      const starting = this.#cursor === undefined && this.#from === "now";
      const page = await readPage(
        this.#cursor === undefined ? { from: this.#from } : { cursor: this.#cursor },
        patience,
      );
      yield* page.data;
      this.#cursor = page.next_cursor ?? this.#cursor;
      if (starting) continue;
      const waited = now() - asked;
      if (page.data.length === 0 && waited < MIN_WAIT_MS) await sleep(MIN_WAIT_MS - waited);
    }
  }
}
