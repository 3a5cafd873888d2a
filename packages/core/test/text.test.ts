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

it("utf8Length equals an encoder's length, for short and long texts", () => {
  const text = fc.tuple(fc.string({ unit: "binary" }), fc.constantFrom(1, 5_000));
  fc.assert(
    fc.property(text, ([piece, times]) => {
      const whole = piece.repeat(times);
      expect(utf8Length(whole)).toBe(new TextEncoder().encode(whole).length);
    }),
  );
});

it("only text with an unpaired surrogate or NUL has a flaw", () => {
  for (const text of ["\ud83d", "a\ude00", "\0", "a\0b"]) expect(textFlaw(text)).not.toBeNull();
  for (const text of ["", "😀", "\n", "\uffff", "\u200b"]) expect(textFlaw(text)).toBeNull();
});

it("control characters are C0, DEL and C1", () => {
  const controls = Array.from({ length: 0x200 }, (_, code) => code).filter((code) =>
    hasControlCharacter(String.fromCharCode(code)),
  );
  expect(controls).toEqual([
    ...Array.from({ length: 32 }, (_, code) => code),
    ...Array.from({ length: 33 }, (_, index) => 0x7f + index),
  ]);
});

describe("a text is certainly too long", () => {
  it("if it has too many words or characters", () => {
    expect(isSurelyTooLong("@cf/baai/bge-m3", "w ".repeat(8_192))).toBe(false);
    expect(isSurelyTooLong("@cf/baai/bge-m3", "w ".repeat(8_193))).toBe(true);
    expect(isSurelyTooLong("@cf/baai/bge-m3", "x".repeat(8_192 * 16))).toBe(false);
    expect(isSurelyTooLong("@cf/baai/bge-m3", "x".repeat(8_192 * 16 + 1))).toBe(true);
  });

  it("but not if it only has many blanks", () => {
    expect(fewestTokens(" ".repeat(1_000_000))).toBe(0);
  });
});

it("every failure code has its own message", () => {
  for (const code of failureCodes) expect(FAILURES[code].message.length).toBeGreaterThan(10);
  expect(Object.keys(FAILURES)).toEqual([...failureCodes]);
});
