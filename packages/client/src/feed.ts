import type { Document, Page } from "./types.ts";

/** Milliseconds: an answer without anything new that came sooner was not waited for by the server. */
const SHORTEST_WAIT = 1_000;

export interface FeedIo {
  readonly readPage: (cursor: string | undefined, wait: number) => Promise<Page<Document>>;
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
  #skip: boolean;

  constructor(io: FeedIo, cursor: string | undefined, from: "start" | "now") {
    this.#io = io;
    this.#cursor = cursor;
    this.#skip = cursor === undefined && from === "now";
  }

  /** `null`: the feed's start. */
  get cursor(): string | null {
    return this.#cursor ?? null;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Document, void, undefined> {
    const { readPage, patience, sleep, now } = this.#io;
    // The feed has no way to start at its end: what is there is read, and what ended before is left out.
    const started = now();
    while (this.#skip) {
      const page = await readPage(this.#cursor, 0);
      yield* page.data.filter(({ finalized_at: at }) => at !== null && Date.parse(at) >= started);
      this.#cursor = page.next_cursor ?? this.#cursor;
      this.#skip = page.data.length > 0;
    }
    for (;;) {
      const asked = now();
      const page = await readPage(this.#cursor, patience);
      yield* page.data;
      this.#cursor = page.next_cursor ?? this.#cursor;
      const waited = now() - asked;
      if (page.data.length === 0 && waited < SHORTEST_WAIT) await sleep(SHORTEST_WAIT - waited);
    }
  }
}
