/** A document to push. */
export interface BenchDocument {
  readonly id: string;
  readonly query: string;
  readonly contexts: readonly string[];
}

/** How documents of one size are generated. `bytes` is approximately the size of an NDJSON line. */
export interface DocumentShape {
  readonly name: string;
  readonly bytes: number;
  readonly contexts: number;
}

export const SMALL = { name: "0.3 KB", bytes: 300, contexts: 2 } as const satisfies DocumentShape;
export const MIDDLE = { name: "1.5 KB", bytes: 1_500, contexts: 5 } as const satisfies DocumentShape;
export const LARGE = { name: "20 KB", bytes: 20_000, contexts: 10 } as const satisfies DocumentShape;

const QUERY_BYTES = 60;
const SYLLABLES =
  "ba be bo da de do fa ga go ka ke ki la le lo ma me mi na ne no pa pe po ra re ri sa se so ta te to va ve vo".split(
    " ",
  );

/** Generates meaningless documents from a seed: the same seed gives the same bytes. */
export function makeDocuments(shape: DocumentShape, count: number, seed: number, prefix = "d"): BenchDocument[] {
  const words = makeWords(seed);
  const contextBytes = Math.floor((shape.bytes - QUERY_BYTES - 40 - 3 * shape.contexts) / shape.contexts);
  return Array.from({ length: count }, (_, index) => ({
    id: `${prefix}${String(index).padStart(7, "0")}`,
    query: words.text(QUERY_BYTES),
    contexts: Array.from({ length: shape.contexts }, () => words.text(contextBytes)),
  }));
}

export function toNdjson(documents: readonly BenchDocument[]): string {
  return documents.map((document) => `${JSON.stringify(document)}\n`).join("");
}

/** Splits documents into NDJSON bodies of at most `maxBytes`, in plain ASCII. */
export function toBodies(documents: readonly BenchDocument[], mostBytes: number): string[] {
  const bodies: string[] = [];
  let lines: string[] = [];
  let bytes = 0;
  for (const document of documents) {
    const line = `${JSON.stringify(document)}\n`;
    if (bytes + line.length > mostBytes && lines.length > 0) {
      bodies.push(lines.join(""));
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += line.length;
  }
  bodies.push(lines.join(""));
  return bodies;
}

/** Texts sliced from a long string of random words: as cheap as a slice, and hardly ever repeated. */
function makeWords(seed: number): { text: (bytes: number) => string } {
  let state = seed >>> 0 || 1;
  // Marsaglia's xorshift32.
  const next = (below: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  let ribbon = "";
  while (ribbon.length < 200_000) {
    for (let syllables = 1 + next(4); syllables > 0; syllables -= 1) ribbon += SYLLABLES[next(SYLLABLES.length)] ?? "";
    ribbon += next(12) === 0 ? ". " : " ";
  }
  return {
    text: (bytes) => {
      const start = next(ribbon.length - bytes);
      return ribbon.slice(start, start + bytes).replace(/^ | $/g, "x");
    },
  };
}
