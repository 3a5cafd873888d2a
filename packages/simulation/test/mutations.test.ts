import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SMALL_LIMITS } from "../src/limits.ts";
import { MUTATIONS } from "../src/mutations/index.ts";
import { Patches, readSources } from "../src/run/patches.ts";

const sources = readSources();

describe("the mutations", () => {
  it.each(MUTATIONS)("find what $name changes", ({ replacements }) => {
    const patches = new Patches(replacements, sources);
    for (const file of patches.files) {
      const text = readFileSync(join(import.meta.dirname, "../../..", file), "utf8");
      expect(patches.apply(file, text)).not.toBe(text);
    }
  });

  it.each(SMALL_LIMITS)("find the limit $in", (limit) => {
    expect(new Patches([limit], sources).files.size).toBe(limit.times);
  });

  it("have unique names", () => {
    expect(MUTATIONS.length).toBeGreaterThanOrEqual(15);
    expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBe(MUTATIONS.length);
  });
});
