import { describe, expect, it } from "vitest";
import { IdSet, MAX_SET_IDS } from "../../src/document/id-set.ts";

describe("a set of ids", () => {
  it("finds every id that was added, and no other", () => {
    const set = new IdSet(7);
    const ids = Array.from({ length: 300_000 }, (_, index) => `document-${index}`);
    expect(ids.filter((id) => set.add(id) !== "added")).toEqual([]);
    expect(ids.filter((id) => set.add(id) !== "known")).toEqual([]);
    expect(set.size).toBe(300_000);
  });

  it("distinguishes ids that differ in one character, in order or in length", () => {
    const set = new IdSet(1);
    const ids = [
      "",
      "a",
      "b",
      "aa",
      "ab",
      "ba",
      "aab",
      "aba",
      "\u0000",
      "\u0000\u0000",
      "é",
      "漢",
      "😀",
      "\ud83d",
      "\ude00",
    ];
    for (let index = 0; index < 256; index += 1) {
      ids.push(`${"x".repeat(index)}y${"x".repeat(255 - index)}`, "z".repeat(index + 1));
    }
    expect(ids.map((id) => set.add(id))).toEqual(ids.map(() => "added"));
  });

  it("distinguishes ids with any seed", () => {
    const ids = Array.from({ length: 50_000 }, (_, index) => String(index));
    for (const seed of [0, 1, 0xffff_ffff]) {
      const set = new IdSet(seed);
      expect(ids.every((id) => set.add(id) === "added")).toBe(true);
    }
  });

  it("reports when it is full, and still finds what it holds", () => {
    const set = new IdSet(3);
    for (let index = 0; index < MAX_SET_IDS; index += 1) {
      if (set.add(String(index)) !== "added") throw new Error(`${index} was mistaken for another id`);
    }
    expect([set.add("one more"), set.add("12"), set.add(String(MAX_SET_IDS - 1))]).toEqual(["full", "known", "known"]);
  });
});
