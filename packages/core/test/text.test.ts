import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  FAILURES,
  failureCodes,
  fewestTokens,
  hasControlCharacter,
  isSurelyTooLong,
  textFlaw,
  utf8Length,
} from "../src/index.ts";

it("utf8Length is what an encoder makes of a text, short or long", () => {
  const text = fc.tuple(fc.string({ unit: "binary" }), fc.constantFrom(1, 5_000));
  fc.assert(
    fc.property(text, ([piece, times]) => {
      const whole = piece.repeat(times);
      expect(utf8Length(whole)).toBe(new TextEncoder().encode(whole).length);
    }),
  );
});

it("text with half a surrogate pair or NUL has a flaw, and no other has", () => {
  for (const text of ["\ud83d", "a\ude00", "\0", "a\0b"]) expect(textFlaw(text)).not.toBeNull();
  for (const text of ["", "😀", "\n", "\uffff", "\u200b"]) expect(textFlaw(text)).toBeNull();
});

it("control characters are those of C0, DEL and C1", () => {
  const controls = Array.from({ length: 0x200 }, (_, code) => code).filter((code) =>
    hasControlCharacter(String.fromCharCode(code)),
  );
  expect(controls).toEqual([
    ...Array.from({ length: 32 }, (_, code) => code),
    ...Array.from({ length: 33 }, (_, index) => 0x7f + index),
  ]);
});

describe("a text is surely too long", () => {
  it("by its words, or by characters that no tokens could hold", () => {
    expect(isSurelyTooLong("@cf/baai/bge-m3", "w ".repeat(8_192))).toBe(false);
    expect(isSurelyTooLong("@cf/baai/bge-m3", "w ".repeat(8_193))).toBe(true);
    expect(isSurelyTooLong("@cf/baai/bge-m3", "x".repeat(8_192 * 16))).toBe(false);
    expect(isSurelyTooLong("@cf/baai/bge-m3", "x".repeat(8_192 * 16 + 1))).toBe(true);
  });

  it("never where it is only long in blanks", () => {
    expect(fewestTokens(" ".repeat(1_000_000))).toBe(0);
  });
});

it("every failure code has words of its own", () => {
  for (const code of failureCodes) expect(FAILURES[code].message.length).toBeGreaterThan(10);
  expect(Object.keys(FAILURES)).toEqual([...failureCodes]);
});
