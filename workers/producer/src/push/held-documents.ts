import type { AcceptedDocument } from "./accepted.ts";

/** Documents lie in buffers of this size; a larger document has one to itself. */
const BUFFER_BYTES = 1_000_000;

interface HeldDocument extends Omit<AcceptedDocument, "serialized"> {
  readonly serialized: Omit<AcceptedDocument["serialized"], "json">;
}

interface HeldBuffer {
  bytes: Uint8Array<ArrayBuffer>;
  used: number;
  readonly documents: HeldDocument[];
}

/**
 * The documents of a JSON push between their check and their sending. Their JSON is held as bytes: long
 * strings fill the old heap, and stay in it as garbage long after they are sent.
 */
export class HeldDocuments {
  readonly #buffers: HeldBuffer[] = [];
  readonly #encoder = new TextEncoder();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add({ id, place, serialized: { json, ...sizes } }: AcceptedDocument): void {
    let buffer = this.#buffers.at(-1);
    if (buffer === undefined || buffer.used + sizes.bytes > buffer.bytes.length) {
      buffer = { bytes: new Uint8Array(Math.max(BUFFER_BYTES, sizes.bytes)), used: 0, documents: [] };
      this.#buffers.push(buffer);
    }
    buffer.used += this.#encoder.encodeInto(json, buffer.bytes.subarray(buffer.used)).written;
    buffer.documents.push({ id, place, serialized: sizes });
    this.#count += 1;
  }

  /** Each document's id and place, in their order. */
  *names(): Generator<Pick<AcceptedDocument, "id" | "place">> {
    for (const { documents } of this.#buffers) yield* documents;
  }

  /** Takes the documents out, in their order. A buffer is freed when its last document was taken. */
  *take(): Generator<AcceptedDocument> {
    const decoder = new TextDecoder();
    for (let buffer = this.#buffers.shift(); buffer !== undefined; buffer = this.#buffers.shift()) {
      let at = 0;
      for (const { id, place, serialized } of buffer.documents) {
        const json = decoder.decode(buffer.bytes.subarray(at, at + serialized.bytes));
        at += serialized.bytes;
        yield { id, place, serialized: { ...serialized, json } };
      }
      // Now, and not at a garbage collection.
      buffer.bytes.buffer.transfer(0);
    }
  }
}
