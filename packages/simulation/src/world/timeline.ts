interface Event {
  readonly time: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * Virtual time: what happens, happens in the order of its time, ties in the order they were asked
 * for. Nothing waits; the clock jumps from one event to the next.
 */
export class Timeline {
  /** Milliseconds since the epoch. */
  now: number;
  #heap: Event[] = [];
  #asked = 0;
  #woken = false;

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

  /** To be called by an event that lets code under test go on: it runs until it waits again. */
  wake(): void {
    this.#woken = true;
  }

  /** Runs everything up to `time`, or until `stop` says so. */
  async runUntil(time: number, stop: () => boolean): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.time <= time; next = this.#heap[0]) {
      this.#pop();
      this.now = next.time;
      next.run();
      if (this.#woken) {
        this.#woken = false;
        await settled();
      }
      if (stop()) return;
    }
    this.now = Math.max(this.now, time);
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

/**
 * Until all code that can go on has gone on: every promise's reactions run before the event loop's
 * next turn, however many there are. The code under test does no real I/O, so nothing else is waited for.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
