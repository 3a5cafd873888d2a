import type { Entry, Header, Location } from "../formats/index.ts";

/** Reads a file's documents for a push, and remembers the lines of each document and the refused lines. */
export class Reading {
  readonly #entries: AsyncIterable<Entry>;
  /** The lines of each document, in push order. */
  readonly locations: Location[] = [];
  /** Lines refused before sending. */
  readonly refused: Extract<Entry, { kind: "refused" }>[] = [];

  /** The header line, or `null` if there is none. */
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
        this.locations.push({
          first,
          last,
          ...(index !== undefined && { index }),
          ...(rows !== undefined && { rows }),
        });
        yield entry.document;
      }
    }
  }
}
