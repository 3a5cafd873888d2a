import type { AcceptedDocument } from "./accepted.ts";

/** Documents are in buffers of this size; a larger document has one to itself. */
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
 * The documents of a JSON push after validation and before sending. Their JSON is kept as bytes: long strings fill the old
 * heap, and stay there as garbage long after they are sent.
 */
export class HeldDocuments {
  readonly #buffers: HeldBuffer[] = [];
  readonly #encoder = new TextEncoder();
  #count = 0;
  #bytes = 0;

  get count(): number {
    return this.#count;
  }

  /** UTF-8 bytes of all documents. */
  get bytes(): number {
    return this.#bytes;
  }

  add({ id, index, serialized: { json, ...sizes } }: AcceptedDocument): void {
    let buffer = this.#buffers.at(-1);
    if (buffer === undefined || buffer.used + sizes.bytes > buffer.bytes.length) {
      buffer = { bytes: new Uint8Array(Math.max(BUFFER_BYTES, sizes.bytes)), used: 0, documents: [] };
      this.#buffers.push(buffer);
    }
    buffer.used += this.#encoder.encodeInto(json, buffer.bytes.subarray(buffer.used)).written;
    buffer.documents.push({ id, index, serialized: sizes });
    this.#count += 1;
    this.#bytes += sizes.bytes;
  }

  /** Each document's id and index, in order. */
  *names(): Generator<Pick<AcceptedDocument, "id" | "index">> {
    for (const { documents } of this.#buffers) yield* documents;
  }

  /** Takes the documents out, in order. A buffer is freed when its last document was taken. */
  *take(): Generator<AcceptedDocument> {
    const decoder = new TextDecoder();
    for (let buffer = this.#buffers.shift(); buffer !== undefined; buffer = this.#buffers.shift()) {
      let at = 0;
      for (const { id, index, serialized } of buffer.documents) {
        const json = decoder.decode(buffer.bytes.subarray(at, at + serialized.bytes));
        at += serialized.bytes;
        yield { id, index, serialized: { ...serialized, json } };
      }
      // Frees the memory now rather than at a garbage collection.
      buffer.bytes.buffer.transfer(0);
    }
  }
}
