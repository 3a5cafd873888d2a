import type { Page } from "./types.ts";

type ReadPage<P> = (cursor: string | undefined, signal: AbortSignal | undefined) => Promise<P>;

/**
 * A list of the API: iterate it for all of its items, or read it by the page. A page that breaks off
 * on its way is read again, so that a long iteration outlives the connections it takes.
 */
export class List<Item, P extends Page<Item> = Page<Item>> implements AsyncIterable<Item> {
  readonly #readPage: ReadPage<P>;
  readonly #cursor: string | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(readPage: ReadPage<P>, cursor: string | undefined, signal: AbortSignal | undefined) {
    this.#readPage = readPage;
    this.#cursor = cursor;
    this.#signal = signal;
  }

  /** One page: the first, or the one of a `next_cursor`. */
  page(cursor: string | undefined = this.#cursor): Promise<P> {
    return this.#readPage(cursor, this.#signal);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const over = new AbortController();
    const signal = this.#signal === undefined ? over.signal : AbortSignal.any([this.#signal, over.signal]);
    try {
      let next: Promise<P> | null = this.#readPage(this.#cursor, signal);
      while (next !== null) {
        const page: P = await next;
        // The next page is on its way while this one is worked on.
        next = page.next_cursor === null ? null : this.#readPage(page.next_cursor, signal);
        next?.catch(() => {});
        yield* page.data;
      }
    } finally {
      over.abort();
    }
  }
}
