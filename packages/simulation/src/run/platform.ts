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

/** What workerd has and Node lacks: a stream that is written to for its digest. */
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
 * What the product awaits of the platform besides its ports is done at once: otherwise a thread of the
 * platform's would decide what comes first.
 */
export function standInForPlatform(): void {
  Object.defineProperty(crypto, "DigestStream", { value: DigestStream });
  Object.defineProperty(crypto.subtle, "digest", {
    value: async (algorithm: string, data: ArrayBuffer | ArrayBufferView) => hash(algorithm, [bytesOf(data)]),
  });
}
