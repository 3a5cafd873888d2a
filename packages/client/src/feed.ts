import type { Document, Page } from "./types.ts";

/** Milliseconds: an answer without anything new that came sooner was not waited for by the server. */
const SHORTEST_WAIT = 1_000;

export interface FeedIo {
  readonly readPage: (cursor: string | undefined) => Promise<Page<Document>>;
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

  constructor(io: FeedIo, cursor: string | undefined) {
    this.#io = io;
    this.#cursor = cursor;
  }

  /** `null`: the feed's start. */
  get cursor(): string | null {
    return this.#cursor ?? null;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Document, void, undefined> {
    const { readPage, sleep, now } = this.#io;
    for (;;) {
      const asked = now();
      const page = await readPage(this.#cursor);
      yield* page.data;
      this.#cursor = page.next_cursor ?? this.#cursor;
      const waited = now() - asked;
      if (page.data.length === 0 && waited < SHORTEST_WAIT) await sleep(SHORTEST_WAIT - waited);
    }
  }
}
