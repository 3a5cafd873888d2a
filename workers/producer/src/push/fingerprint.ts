import { toHex } from "@sluice/core";
import type { BodyPiece } from "../http/body.ts";
import type { Problem } from "../http/problems.ts";

/**
 * Identifies a push: SHA-256 over the options as given, the kind of the body, and its bytes after decompression. It is
 * computed while the body streams, and known at its end.
 */
export class Fingerprint {
  readonly #digest = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#digest.getWriter();
  readonly #head: Uint8Array;
  #value: string | null = null;

  /** `head` is hashed before the body. */
  constructor(head: unknown) {
    this.#head = new TextEncoder().encode(`${JSON.stringify(head)}\n`);
    // Nobody reads the digest of a body that is not read to its end.
    this.#digest.digest.catch(() => {});
  }

  /** As hex; `null` before the body's end. */
  get value(): string | null {
    return this.#value;
  }

  /** The same body, hashed as it is read. */
  async *watch(body: AsyncIterable<BodyPiece>): AsyncGenerator<BodyPiece> {
    await this.#writer.write(this.#head);
    for await (const piece of body) {
      if (!("problem" in piece)) await this.#writer.write(piece);
      yield piece;
      if ("problem" in piece) return;
    }
    await this.#writer.close();
    this.#value = toHex(new Uint8Array(await this.#digest.digest));
  }

  /** Reads a body for its fingerprint only. Gives the problem that ended it early, if any. */
  async readThrough(body: AsyncIterable<BodyPiece>): Promise<Problem | null> {
    for await (const piece of this.watch(body)) {
      if ("problem" in piece) return piece.problem;
    }
    return null;
  }
}
