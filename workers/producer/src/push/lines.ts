/** A line of a body, without its ending. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** `null`: longer than a line may be, and not kept. */
  readonly bytes: Uint8Array | null;
}

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/**
 * Splits a stream of bytes into lines and keeps at most one of them. Lines end in LF or CRLF; a byte order mark before the
 * first is removed. A line of more than `maxBytes` is dropped as it arrives.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #tooLong = false;
  #number = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes the next bytes; gives the lines that end in them. Read the lines before the next call. */
  *push(chunk: Uint8Array): Generator<Line> {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      // Empty lines are only counted: a compressed body may have hundreds of millions.
      if (end === start && this.#heldBytes === 0 && !this.#tooLong) {
        this.#number += 1;
      } else {
        this.#hold(chunk.subarray(start, end));
        yield this.#take();
      }
      start = end + 1;
    }
    // The rest is copied: the next read may overwrite its bytes.
    if (start < chunk.length) this.#hold(chunk.slice(start));
  }

  /** The last line, if it has no ending. */
  *end(): Generator<Line> {
    if (this.#heldBytes > 0 || this.#tooLong) yield this.#take();
  }

  #hold(bytes: Uint8Array): void {
    // One more for a CR, which is not part of the line.
    if (this.#tooLong || this.#heldBytes + bytes.length > this.#maxBytes + 1) {
      this.#tooLong = true;
      this.#held = [];
      this.#heldBytes = 0;
      return;
    }
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #take(): Line {
    this.#number += 1;
    const line = this.#tooLong ? null : this.#trim(joined(this.#held, this.#heldBytes));
    this.#held = [];
    this.#heldBytes = 0;
    this.#tooLong = false;
    return { number: this.#number, bytes: line !== null && line.length > this.#maxBytes ? null : line };
  }

  #trim(line: Uint8Array): Uint8Array {
    const start = this.#number === 1 && BYTE_ORDER_MARK.every((byte, index) => line[index] === byte) ? 3 : 0;
    const end = line.at(-1) === CR ? line.length - 1 : line.length;
    return line.subarray(start, Math.max(start, end));
  }
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
