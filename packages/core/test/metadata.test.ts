import { describe, expect, it } from "vitest";
import { parseDocument } from "../src/index.ts";

function flaw(metadata: unknown) {
  const parsed = parseDocument(
    { query: "q", contexts: ["c"], metadata },
    { model: "@cf/baai/bge-m3", truncateInputs: true },
  );
  return parsed.ok ? null : parsed.error;
}
const nested = (depth: number, leaf: unknown = 1): unknown => (depth === 0 ? leaf : { a: nested(depth - 1, leaf) });

describe("metadata", () => {
  it("may be 32 levels deep, lists included", () => {
    expect(flaw(nested(32))).toBeNull();
    expect(flaw(nested(31, [1]))).toBeNull();
    expect(flaw(nested(33))?.[0]?.detail).toMatch(/32 levels/);
    expect(flaw(nested(31, [[1]]))?.[0]?.detail).toMatch(/32 levels/);
  });

  it("nested a hundred thousand deep is refused without a stack overflow", () => {
    let value: unknown = 1;
    for (let depth = 0; depth < 100_000; depth += 1) value = [value];
    expect(flaw({ value })?.[0]?.detail).toMatch(/32 levels/);
  });

  it.each([
    [{ a: { b: "\0" } }, "/metadata/a/b"],
    [{ a: ["x", "\ud800"] }, "/metadata/a/1"],
    [{ a: { "\0": 1 } }, "/metadata/a"],
    [{ a: Infinity }, "/metadata/a"],
    [[1], "/metadata"],
    ["text", "/metadata"],
    [null, "/metadata"],
  ])("is refused at the place that would not come back: %j", (metadata, pointer) => {
    expect(flaw(metadata)?.map((problem) => problem.pointer)).toEqual([pointer]);
  });

  it.each([
    ["a list of millions", { a: Array.from({ length: 3_000_000 }, () => 0) }],
    ["a great many names", Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`n${n}`, n]))],
    ["a long text", { a: "x".repeat(5_000) }],
    ["a long name", { ["x".repeat(5_000)]: 1 }],
    ["lists in a list", { a: Array.from({ length: 3_000 }, () => [1, 2, 3]) }],
  ])("is refused as too large before it is walked whole: %s", (_, metadata) => {
    expect(flaw(metadata)).toEqual([{ pointer: "/metadata", detail: "metadata must be at most 4096 bytes as JSON" }]);
  });

  it("tells a long name only as far as it helps to find it", () => {
    const [problem] = flaw({ ["n".repeat(100)]: "\0" }) ?? [];
    expect(problem?.pointer).toBe(`/metadata/${"n".repeat(64)}…`);
  });

  it("keeps names that mean something to JavaScript", () => {
    const text = '{"__proto__":{"a":1},"constructor":2}';
    const parsed = parseDocument(
      { query: "q", contexts: ["c"], metadata: JSON.parse(text) },
      { model: "@cf/baai/bge-m3", truncateInputs: true },
    );
    expect(parsed.ok && JSON.stringify(parsed.value.metadata)).toBe(text);
  });
});
