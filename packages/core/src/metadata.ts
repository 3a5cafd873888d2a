import { MAX_METADATA_BYTES, MAX_METADATA_DEPTH } from "./limits.ts";
import { textFlaw } from "./text.ts";

interface Flaw {
  readonly path: readonly PropertyKey[];
  readonly detail: string;
}

const TOO_LARGE = `must be at most ${MAX_METADATA_BYTES} bytes as JSON`;

/**
 * The first thing in `metadata` that would not come back to the letter. Walks without recursion:
 * what is nested a hundred thousand deep is refused, not a stack overflow. And it walks no further
 * than metadata may reach: each value and each character of a name or text is a byte of JSON at least.
 */
export function metadataFlaw(metadata: Readonly<Record<string, unknown>>): Flaw | null {
  const open: { readonly value: unknown; readonly path: readonly PropertyKey[] }[] = [{ value: metadata, path: [] }];
  let bytes = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    bytes += typeof value === "string" ? value.length : 1;
    if (bytes > MAX_METADATA_BYTES) return { path: [], detail: TOO_LARGE };
    if (typeof value === "string") {
      const flaw = textFlaw(value);
      if (flaw !== null) return { path, detail: flaw };
    } else if (typeof value === "number") {
      if (!Number.isFinite(value)) return { path, detail: "holds a number that is too large" };
    } else if (typeof value === "object" && value !== null) {
      if (path.length >= MAX_METADATA_DEPTH) {
        return { path, detail: `must be at most ${MAX_METADATA_DEPTH} levels deep` };
      }
      if (Array.isArray(value) && value.length > MAX_METADATA_BYTES) return { path: [], detail: TOO_LARGE };
      for (const [key, child] of Object.entries(value)) {
        bytes += key.length;
        if (bytes + open.length > MAX_METADATA_BYTES) return { path: [], detail: TOO_LARGE };
        const flaw = textFlaw(key);
        if (flaw !== null) return { path, detail: `has a name that ${flaw}` };
        open.push({ value: child, path: [...path, key] });
      }
    }
  }
  return null;
}
