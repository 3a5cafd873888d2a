import { expect, it } from "vitest";
import { MemoryLimit } from "../../src/platform/memory.ts";

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;

it("holds up to its limit, and more again once something is released", () => {
  const memory = new MemoryLimit(100);
  const release = memory.hold(60, NOW);
  expect(memory.hold(50, NOW)).toBeNull();
  expect(memory.hold(40, NOW)).not.toBeNull();
  release?.();
  expect(memory.free(NOW)).toBe(60);
  expect(memory.hold(50, NOW)).not.toBeNull();
});

it("holds what is larger than the limit by itself", () => {
  const memory = new MemoryLimit(100);
  const release = memory.hold(500, NOW);
  expect(release).not.toBeNull();
  expect(memory.hold(1, NOW)).toBeNull();
  release?.();
  expect(memory.hold(1, NOW)).not.toBeNull();
});

it("frees what an invocation held that never ended, after the longest that one may last", () => {
  const memory = new MemoryLimit(100);
  memory.hold(100, NOW);
  expect(memory.hold(1, NOW + 15 * MINUTE)).toBeNull();
  expect(memory.hold(1, NOW + 15 * MINUTE + 1)).not.toBeNull();
});
