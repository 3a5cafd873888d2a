import { toLine, type Next } from "./source.ts";

/** A body's chunks are about this long. */
const CHUNK_BYTES = 65_536;

const encoder = new TextEncoder();

/** What was taken from the source and did not fit the part before. */
export interface Held {
  readonly item: unknown;
  readonly bytes: number;
}

/**
 * The items of one request. They are taken from the source as the body is sent, and kept, so that the
 * body can be sent again: the same items, and then the rest.
 */
export class PushPart {
  readonly #next: Next;
  readonly #mostBytes: number;
  readonly #items: unknown[] = [];
  #bytes = 0;
  #complete = false;
  #held: Held | null = null;
  #taking: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  /** `first` is what the part before held; `mostBytes` bounds the body, unpacked, but for a single line. */
  constructor(next: Next, mostBytes: number, first: Held | null) {
    this.#next = next;
    this.#mostBytes = mostBytes;
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

  /** Whether every item of the part is here. */
  get complete(): boolean {
    return this.#complete;
  }

  /** What comes after this part; `null` where it is the last. */
  get held(): Held | null {
    return this.#held;
  }

  /** Throws what the source threw, if it did. */
  throwSourceError(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Takes items from the source until the part is complete, or holds more than so many or so much. */
  async fill(items: number, bytes: number): Promise<void> {
    while (!this.#complete && this.#items.length <= items && this.#bytes <= bytes) await this.#take();
  }

  /** All lines of a complete part. */
  text(): string {
    return this.#items.map(toLine).join("");
  }

  /** The lines, in chunks near 64 KB; `onChunk` is told how many items are out with it, and their bytes. */
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

  /** Whether there is an item of this number, from 0: takes it where it has not come yet. */
  async #has(index: number): Promise<boolean> {
    while (index >= this.#items.length && !this.#complete) await this.#take();
    return index < this.#items.length;
  }

  /** Two bodies may want the next item at once, where one is given up: it is taken once. */
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
      if (this.#items.length > 0 && this.#bytes + bytes > this.#mostBytes) {
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
