import { describe, expect, it } from "vitest";
import { memberText, parseDocument } from "../src/index.ts";

/** Parses a document whose metadata is this JSON text. */
function parse(metadata: string) {
  const json = `{"query":"q","contexts":["c"],"metadata":${metadata}}`;
  const rules = { model: "@cf/baai/bge-m3", truncateInputs: true } as const;
  return parseDocument(JSON.parse(json), memberText(json, "metadata"), rules);
}
function kept(metadata: string) {
  const parsed = parse(metadata);
  return parsed.ok ? parsed.value.metadata : parsed.error;
}
function flaw(metadata: string) {
  const parsed = parse(metadata);
  return parsed.ok ? null : parsed.error;
}
const nested = (depth: number, leaf = "1"): string => `${'{"a":'.repeat(depth)}${leaf}${"}".repeat(depth)}`;

describe("metadata", () => {
  it.each([
    ["an integer beyond 2^53", '{"id":1546130668394913823}'],
    ["a number beyond the range of a double", '{"a":1e400,"b":-1e400,"c":1e-400}'],
    ["more digits than a double has", '{"a":0.1000000000000000055511151231257827}'],
    ["negative zero", '{"a":-0,"b":-0.0}'],
    ["a number in any notation", '{"a":1.0,"b":1,"c":1E5,"d":100000,"e":1e+05}'],
    ["names that are integers, in their order", '{"10":1,"2":2}'],
    ["repeated names", '{"a":1,"a":2,"b":{"a":3,"a":4}}'],
    ["escapes", String.raw`{"\u0061":"\u00e9\/\"\\","b":"é/😀\ud83d\ude00"}`],
    ["names with a meaning in JavaScript", '{"__proto__":{"a":1},"constructor":2}'],
    ["brackets and quotes within strings", String.raw`{"a":"}],:{\"","b":["\\"],"c":{"d":"\\\""}}`],
    ["empty values", '{"a":{},"b":[],"c":"","d":null,"e":[[],{}]}'],
    ["nothing", "{}"],
  ])("is kept as written: %s", (_, metadata) => {
    expect(kept(metadata)).toBe(metadata);
  });

  it("is kept without white space between tokens, but with it in strings", () => {
    expect(kept(' {\n\t"a b" : [ 1 , -2.50 ,\r\n"c  d\\n" ] , "e" : { } , "f":[ ] } ')).toBe(
      '{"a b":[1,-2.50,"c  d\\n"],"e":{},"f":[]}',
    );
  });

  it("is that of the last member with its name, in any notation", () => {
    const json = String.raw`{"metadata":{"a":1},"query":"\"metadata\":{","contexts":["c"],"met\u0061data":{"a":2}}`;
    expect(memberText(json, "metadata")).toBe('{"a":2}');
  });

  it("may be 32 levels deep, lists included", () => {
    expect(flaw(nested(32))).toBeNull();
    expect(flaw(nested(31, "[1]"))).toBeNull();
    expect(flaw(nested(33))?.[0]?.detail).toMatch(/32 levels/);
    expect(flaw(nested(31, "[[1]]"))?.[0]?.detail).toMatch(/32 levels/);
  });

  it("is refused without a stack overflow if it is a hundred thousand levels deep", () => {
    const deep = `{"value":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect(memberText(`{"query":${deep},"metadata":{}}`, "metadata")).toBe("{}");
    expect(flaw(deep)?.[0]?.detail).toMatch(/32 levels/);
  });

  it.each([
    [String.raw`{"a":{"b":"\u0000"}}`, "/metadata/a/b"],
    [String.raw`{"a":["x","\ud800"]}`, "/metadata/a/1"],
    [String.raw`{"a":{"\u0000":1}}`, "/metadata/a"],
    [String.raw`{"a":"\u0000","a":1}`, "/metadata/a"],
    ["[1]", "/metadata"],
    ['"text"', "/metadata"],
    ["null", "/metadata"],
  ])("is refused at the location that cannot be stored: %s", (metadata, pointer) => {
    expect(flaw(metadata)?.map((problem) => problem.pointer)).toEqual([pointer]);
  });

  it.each([
    ["a list of millions", `{"a":[${"0,".repeat(3_000_000)}0]}`],
    ["a great many names", JSON.stringify(Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`n${n}`, n])))],
    ["a long text", JSON.stringify({ a: "x".repeat(5_000) })],
    ["a long name", JSON.stringify({ ["x".repeat(5_000)]: 1 })],
    ["a long number", `{"a":${"1".repeat(5_000)}}`],
    ["lists in a list", JSON.stringify({ a: Array.from({ length: 3_000 }, () => [1, 2, 3]) })],
    ["characters of several bytes", JSON.stringify({ a: "é".repeat(2_045) })],
  ])("is refused as too large before it is read whole: %s", (_, metadata) => {
    expect(flaw(metadata)).toEqual([{ pointer: "/metadata", detail: "metadata must be at most 4096 bytes as JSON" }]);
  });

  it("may have 4,096 bytes without the white space between tokens", () => {
    const metadata = JSON.stringify({ a: "x".repeat(4_096 - 8) });
    expect(kept(metadata.replace(":", `:${" ".repeat(5_000)}`))).toBe(metadata);
    expect(flaw(metadata.replace("x", "xx"))?.[0]?.pointer).toBe("/metadata");
  });

  it("has long names shortened in problems", () => {
    const [problem] = flaw(String.raw`{"${"n".repeat(100)}":"\u0000"}`) ?? [];
    expect(problem?.pointer).toBe(`/metadata/${"n".repeat(64)}…`);
  });
});
