import type { Page } from "./types.ts";

type ReadPage<P> = (cursor: string | undefined, signal: AbortSignal | undefined) => Promise<P>;

/**
 * A list of the API. Iterate it to read all items, or read it page by page. A page whose connection breaks is read
 * again, so a long iteration survives broken connections.
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

  /** Reads one page: the first, or the one of a `next_cursor`. */
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
        // Request the next page while the caller works on this one.
        next = page.next_cursor === null ? null : this.#readPage(page.next_cursor, signal);
        next?.catch(() => {});
        yield* page.data;
      }
    } finally {
      over.abort();
    }
  }
}
