import { createHash } from "node:crypto";

function hash(algorithm: string, chunks: readonly Uint8Array[]): ArrayBuffer {
  const digest = createHash(algorithm.replace("-", "").toLowerCase());
  for (const chunk of chunks) digest.update(chunk);
  return new Uint8Array(digest.digest()).buffer;
}

function bytesOf(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

/** A stream that computes a digest, which workerd has and Node lacks. */
class DigestStream {
  readonly digest: Promise<ArrayBuffer>;
  readonly #algorithm: string;
  readonly #chunks: Uint8Array[] = [];
  #resolve: (digest: ArrayBuffer) => void = () => undefined;

  constructor(algorithm: string) {
    this.#algorithm = algorithm;
    this.digest = new Promise((resolve) => (this.#resolve = resolve));
  }

  getWriter() {
    return {
      write: async (chunk: Uint8Array) => {
        this.#chunks.push(chunk.slice());
      },
      close: async () => this.#resolve(hash(this.#algorithm, this.#chunks)),
    };
  }
}

/**
 * Makes asynchronous platform functions other than the ports complete at once. Otherwise platform threads would decide
 * the order of events.
 */
export function standInForPlatform(): void {
  Object.defineProperty(crypto, "DigestStream", { value: DigestStream });
  Object.defineProperty(crypto.subtle, "digest", {
    value: async (algorithm: string, data: ArrayBuffer | ArrayBufferView) => hash(algorithm, [bytesOf(data)]),
  });
}
