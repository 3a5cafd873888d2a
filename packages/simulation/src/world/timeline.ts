interface Event {
  readonly time: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * Virtual time. Events run in the order of their times, ties in the order of scheduling. The clock jumps from one event
 * to the next, but only when the code under test is idle: no woken code still runs, and all work announced with
 * `beginWork` has ended.
 */
export class Timeline {
  /** Milliseconds since the epoch. */
  now: number;
  #heap: Event[] = [];
  #asked = 0;
  #woken = false;
  #working = 0;
  /**
   * How long the clock waits for code under test, in real milliseconds. A turn of the event loop takes microseconds.
   */
  maxWorkMs = 10_000;
  /** Called when announced work outlasts `maxWorkMs`. Unless this throws, the clock then moves on. */
  onHang: () => void = () => {
    throw new Error(`code under test neither waited nor ended within ${this.maxWorkMs} ms`);
  };

  constructor(start: number) {
    this.now = start;
  }

  after(delay: number, run: () => void): void {
    this.at(this.now + delay, run);
  }

  at(time: number, run: () => void): void {
    this.#asked += 1;
    this.#push({ time: Math.max(Math.ceil(time), this.now), order: this.#asked, run });
  }

  /** Signals that code under test can continue, from inside or outside an event. */
  wake(): void {
    this.#woken = true;
  }

  /** Holds the clock until `endWork`, however many turns of the event loop that takes. */
  beginWork(): void {
    this.#working += 1;
  }

  endWork(): void {
    this.#working -= 1;
  }

  /** Runs every event up to `time`, or until `stop` returns true. Code that was woken before the call runs first. */
  async runUntil(time: number, stop: () => boolean): Promise<void> {
    for (;;) {
      if (!this.#isIdle) await this.#idle();
      if (stop()) return;
      const next = this.#heap[0];
      if (next === undefined || next.time > time) break;
      this.#pop();
      this.now = next.time;
      next.run();
    }
    this.now = Math.max(this.now, time);
  }

  get #isIdle(): boolean {
    return !this.#woken && this.#working === 0;
  }

  /** Resolves when the code under test can only continue after the clock moves. */
  async #idle(): Promise<void> {
    let startedAt: number | null = null;
    while (!this.#isIdle) {
      this.#woken = false;
      await nextTurn();
      if (this.#working === 0) continue;
      startedAt ??= performance.now();
      if (performance.now() - startedAt > this.maxWorkMs) return this.onHang();
    }
  }

  get nextTime(): number {
    return this.#heap[0]?.time ?? Infinity;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Event;
      if (!isBefore(event, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Event;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[index] = heap[child] as Event;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.time < b.time || (a.time === b.time && a.order < b.order);
}

/** Resolves at the event loop's next turn, after all pending promise reactions. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
