import fc from "fast-check";
import { expect, it } from "vitest";
import { LineSplitter } from "../src/push/lines.ts";

const encoder = new TextEncoder();

/** The lines of a text that arrives in pieces of the given sizes, in rotation. */
function split(bytes: Uint8Array, sizes: readonly number[], most = 1_000): { number: number; text: string | null }[] {
  const splitter = new LineSplitter(most);
  const lines: { number: number; text: string | null }[] = [];
  const take = (found: Iterable<{ number: number; bytes: Uint8Array | null }>) => {
    for (const { number, bytes: line } of found) {
      lines.push({
        number,
        text: line === null ? null : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line),
      });
    }
  };
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    // A reader may reuse its buffer, so the splitter must keep a copy.
    const chunk = bytes.slice(at, at + (sizes[turn % sizes.length] ?? 1));
    at += chunk.length;
    take(splitter.push(chunk));
    chunk.fill(0);
  }
  take(splitter.end());
  // Empty lines may be given or only counted: nobody reads them.
  return lines.filter((line) => line.text !== "");
}

const pieceSizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

it("gives the same lines wherever the bytes are split", () => {
  const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 30 }).map((text) => text.replaceAll(/[\r\n]/g, "")));
  fc.assert(
    fc.property(texts, fc.constantFrom("\n", "\r\n"), pieceSizes, (lines, ending, sizes) => {
      const found = split(encoder.encode(lines.map((line) => line + ending).join("")), sizes);
      const expected = lines.map((text, index) => (index === 0 ? text.replace(/^\ufeff/, "") : text));
      const numbered = expected.map((text, index) => ({ number: index + 1, text }));
      expect(found).toEqual(numbered.filter((line) => line.text !== ""));
    }),
  );
});

it("drops lines over the limit and no others, wherever the bytes are split", () => {
  const lengths = fc.array(fc.integer({ min: 0, max: 25 }), { minLength: 1 });
  fc.assert(
    fc.property(lengths, fc.constantFrom("\n", "\r\n"), pieceSizes, (counts, ending, sizes) => {
      const found = split(encoder.encode(counts.map((count) => "x".repeat(count) + ending).join("")), sizes, 10);
      const wanted = counts.map((count, index) => ({ number: index + 1, text: count > 10 ? null : "x".repeat(count) }));
      expect(found).toEqual(wanted.filter((line) => line.text !== ""));
    }),
  );
});

it("gives a last line without an ending, and none after a final ending", () => {
  expect(split(encoder.encode("a\nb"), [1]).map((line) => line.text)).toEqual(["a", "b"]);
  expect(split(encoder.encode("a\n"), [1]).map((line) => line.text)).toEqual(["a"]);
  expect(split(encoder.encode(`a\n${"x".repeat(20)}`), [3], 10)).toEqual([
    { number: 1, text: "a" },
    { number: 2, text: null },
  ]);
});

it("removes a byte order mark only at the start of the body", () => {
  expect(split(encoder.encode("\ufeffa\n\ufeffb"), [1]).map((line) => line.text)).toEqual(["a", "\ufeffb"]);
});
