import type { Entry, Header, Place } from "../formats/index.ts";

/** Takes a file's documents for a push, and remembers where they and the refused lines are. */
export class Reading {
  readonly #entries: AsyncIterable<Entry>;
  /** The lines of each document, in the order pushed. */
  readonly places: Place[] = [];
  /** Refused before they were sent. */
  readonly refused: Extract<Entry, { kind: "refused" }>[] = [];

  /** The line that names the columns; `null`: none does. */
  header: number | null = null;

  constructor(read: (onHeader: (header: Header) => void) => AsyncIterable<Entry>, onHeader: (header: Header) => void) {
    this.#entries = read((header) => {
      this.header = header.line;
      onHeader(header);
    });
  }

  async *items() {
    for await (const entry of this.#entries) {
      if (entry.kind === "refused") {
        this.refused.push(entry);
      } else {
        const { first, last, index, rows } = entry;
        this.places.push({ first, last, ...(index !== undefined && { index }), ...(rows !== undefined && { rows }) });
        yield entry.document;
      }
    }
  }
}
