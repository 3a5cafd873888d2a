export interface Sent {
  readonly items: number;
  /** Unpacked. */
  readonly bytes: number;
}

const NOTHING: Sent = { items: 0, bytes: 0 };

/** Counts the items of one part that may have been sent, over all attempts of its request. */
export class SentCount {
  /** The most that an earlier attempt handed to a connection. */
  #earlier = NOTHING;
  #current = NOTHING;
  #try = 0;

  get items(): number {
    return Math.max(this.#earlier.items, this.#current.items);
  }

  get bytes(): number {
    return Math.max(this.#earlier.bytes, this.#current.bytes);
  }

  /** Begins an attempt. The returned function counts what its body has handed over so far. */
  startTry(onCount: () => void): (items: number, bytes: number) => void {
    this.#try += 1;
    const number = this.#try;
    return (items, bytes) => {
      // An abandoned body may take one more chunk.
      if (number !== this.#try) return;
      this.#current = { items, bytes };
      onCount();
    };
  }

  /** Ends a failed attempt. Without a connection, nothing that was handed over was sent. */
  endTry(isConnected: boolean): void {
    this.#try += 1;
    if (isConnected) this.#earlier = { items: this.items, bytes: this.bytes };
    this.#current = NOTHING;
  }
}
