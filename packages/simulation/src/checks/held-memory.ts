import { MAX_ISOLATE_BYTES, type MemoryLimit } from "@sluice/pipeline/platform/memory.ts";
import type { Caller } from "../world/caller.ts";

/** The memory that Workers leave held in their isolate. Only Workers that die may leave some. */
export class HeldMemory {
  readonly #limit: MemoryLimit;
  /** Maximum bytes that dead Workers left held. */
  #left = 0;
  #hasDied = false;

  constructor(limit: MemoryLimit) {
    this.#limit = limit;
  }

  /** Checks the held memory when a Worker ends while `running` have not. Returns the flaw, or `null`. */
  flawAtEnd({ name, isDead }: Caller, running: readonly Caller[]): string | null {
    // Its pending work may hold memory for a moment longer.
    if (isDead) this.#hasDied = true;
    if (isDead || running.some(({ worker }) => worker !== "producer")) return null;
    // At -Infinity no reservation has expired, so all held bytes count.
    const held = MAX_ISOLATE_BYTES - this.#limit.free(-Infinity);
    const isLeft = held > this.#left && !this.#hasDied;
    this.#left = held;
    this.#hasDied = false;
    return isLeft ? `${name} ended and no Worker runs, but ${held} bytes of memory are held` : null;
  }
}
