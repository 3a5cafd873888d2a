import type { Document, Page } from "./types.ts";

/** Milliseconds: an answer without anything new that came sooner was not waited for by the server. */
const MIN_WAIT_MS = 1_000;

/** Where a feed begins without a cursor. */
export type FeedStart = "start" | "now";

export interface FeedIo {
  /** From a cursor, or from where a feed begins: the end is told at once, in an empty page. */
  readonly readPage: (
    at: { readonly cursor: string } | { readonly from: FeedStart },
    wait: number,
  ) => Promise<Page<Document>>;
  /** Seconds that the server may wait for something new. */
  readonly patience: number;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly now: () => number;
}

/**
 * Documents as they end, across submissions, each at least once, without an end. `cursor` is where to
 * go on: it moves behind a document only when the next one is asked for, so that a program which keeps
 * it after its work loses none.
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

  /** `null`: nothing was read yet. */
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
