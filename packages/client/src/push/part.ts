import { toLine, type Next } from "./source.ts";

/** Approximate bytes of a chunk of the body. */
const CHUNK_BYTES = 65_536;

const encoder = new TextEncoder();

/** An item taken from the source that did not fit in the previous part. */
export interface Held {
  readonly item: unknown;
  readonly bytes: number;
}

/**
 * The items of one request. They are read from the source while the body is sent, and buffered so that a retry can send
 * them again before the rest.
 */
export class PushPart {
  readonly #next: Next;
  readonly #maxBytes: number;
  readonly #items: unknown[] = [];
  #bytes = 0;
  #complete = false;
  #held: Held | null = null;
  #taking: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  /**
   * `first` is the item left over from the previous part. `maxBytes` limits the unpacked body, unless a single line is
   * longer.
   */
  constructor(next: Next, maxBytes: number, first: Held | null) {
    this.#next = next;
    this.#maxBytes = maxBytes;
    if (first === null) return;
    this.#items.push(first.item);
    this.#bytes = first.bytes;
  }

  get count(): number {
    return this.#items.length;
  }

  /** UTF-8 bytes of the lines so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether all items of the part have been read. */
  get complete(): boolean {
    return this.#complete;
  }

  /** The item left over for the next part, or `null` if this part is the last. */
  get held(): Held | null {
    return this.#held;
  }

  /** Rethrows an error of the source. */
  throwSourceError(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Reads items from the source until the part is complete, or exceeds the given number of items or bytes. */
  async fill(items: number, bytes: number): Promise<void> {
    while (!this.#complete && this.#items.length <= items && this.#bytes <= bytes) await this.#take();
  }

  /** All lines of a complete part. */
  text(): string {
    return this.#items.map(toLine).join("");
  }

  /**
   * The lines, in chunks of about 64 KB. `onChunk` receives the number of items and bytes sent, including the chunk.
   */
  async *chunks(onChunk: (items: number, bytes: number) => void): AsyncGenerator<Uint8Array> {
    let lines = "";
    let bytes = 0;
    for (let index = 0; await this.#has(index); index += 1) {
      lines += toLine(this.#items[index]);
      const last = this.#complete && index + 1 === this.#items.length;
      if (lines.length < CHUNK_BYTES && !last) continue;
      const chunk = encoder.encode(lines);
      bytes += chunk.length;
      lines = "";
      onChunk(index + 1, bytes);
      yield chunk;
    }
    if (lines === "") return;
    onChunk(this.#items.length, bytes + byteLength(lines));
    yield encoder.encode(lines);
  }

  /** Whether there is an item at this index, from 0. Reads it if needed. */
  async #has(index: number): Promise<boolean> {
    while (index >= this.#items.length && !this.#complete) await this.#take();
    return index < this.#items.length;
  }

  /** When one body is given up, two may request the next item at once. It is read only once. */
  #take(): Promise<void> {
    this.#taking ??= this.#takeOne().finally(() => {
      this.#taking = null;
    });
    return this.#taking;
  }

  async #takeOne(): Promise<void> {
    this.throwSourceError();
    try {
      const read = await this.#next();
      if (read.done) {
        this.#complete = true;
        return;
      }
      const { item } = read;
      const bytes = byteLength(toLine(item));
      if (this.#items.length > 0 && this.#bytes + bytes > this.#maxBytes) {
        this.#held = { item, bytes };
        this.#complete = true;
        return;
      }
      this.#items.push(item);
      this.#bytes += bytes;
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }
}

const scratch = new Uint8Array(16_384);

function byteLength(text: string): number {
  if (text.length * 3 <= scratch.length) return encoder.encodeInto(text, scratch).written;
  return encoder.encode(text).length;
}
