import { MAX_ISOLATE_BYTES, type MemoryLimit } from "@sluice/pipeline/platform/memory.ts";
import type { Caller } from "../world/caller.ts";

/** What Workers leave held in their isolate: only those that die release nothing. */
export class HeldMemory {
  readonly #limit: MemoryLimit;
  /** Bytes that dead Workers left, at most. */
  #left = 0;
  #hasDied = false;

  constructor(limit: MemoryLimit) {
    this.#limit = limit;
  }

  /** A Worker ended; `running` are those that have not. What is wrong with what is held then, or `null`. */
  flawAtEnd({ name, isDead }: Caller, running: readonly Caller[]): string | null {
    // What it was about to do takes up memory for a moment longer.
    if (isDead) this.#hasDied = true;
    if (isDead || running.some(({ worker }) => worker !== "producer")) return null;
    // By no time at all nothing has been held for too long.
    const held = MAX_ISOLATE_BYTES - this.#limit.free(-Infinity);
    const isLeft = held > this.#left && !this.#hasDied;
    this.#left = held;
    this.#hasDied = false;
    return isLeft ? `${name} ended, nobody runs, and ${held} bytes of memory are held` : null;
  }
}
