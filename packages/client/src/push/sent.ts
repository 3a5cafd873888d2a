export interface Sent {
  readonly items: number;
  /** Unpacked. */
  readonly bytes: number;
}

const NOTHING: Sent = { items: 0, bytes: 0 };

/** Counts what may have gone out of one part, over all tries of its request. */
export class SentCount {
  /** The most that an earlier try handed to a connection. */
  #earlier = NOTHING;
  #current = NOTHING;
  #try = 0;

  get items(): number {
    return Math.max(this.#earlier.items, this.#current.items);
  }

  get bytes(): number {
    return Math.max(this.#earlier.bytes, this.#current.bytes);
  }

  /** Begins a try; the function counts what its body has handed over so far. */
  startTry(onCount: () => void): (items: number, bytes: number) => void {
    this.#try += 1;
    const number = this.#try;
    return (items, bytes) => {
      // A body that is given up may take one more chunk.
      if (number !== this.#try) return;
      this.#current = { items, bytes };
      onCount();
    };
  }

  /** Ends a try that failed. What was handed over without a connection went nowhere. */
  endTry(isConnected: boolean): void {
    this.#try += 1;
    if (isConnected) this.#earlier = { items: this.items, bytes: this.bytes };
    this.#current = NOTHING;
  }
}
