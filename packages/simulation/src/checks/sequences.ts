/** The finalized sequences of jobs. */
export class Sequences {
  #last = 0;

  /** Takes the sequences that one transaction gave. Returns the flaw if one was used before, or `null`. */
  flawIn(sequences: readonly number[]): string | null {
    for (const sequence of sequences.toSorted((a, b) => a - b)) {
      if (sequence <= this.#last) return `the finalized sequence ${sequence} was used before`;
      this.#last = sequence;
    }
    return null;
  }
}
