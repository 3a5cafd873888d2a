import { expect, it } from "vitest";
import { MemoryLimit } from "../../src/platform/memory.ts";

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;

it("grants up to its limit, and more once some is released", () => {
  const memory = new MemoryLimit(100);
  const release = memory.hold(60, NOW);
  expect(memory.hold(50, NOW)).toBeNull();
  expect(memory.hold(40, NOW)).not.toBeNull();
  release?.();
  expect(memory.free(NOW)).toBe(60);
  expect(memory.hold(50, NOW)).not.toBeNull();
});

it("grants more than the limit only alone", () => {
  const memory = new MemoryLimit(100);
  const release = memory.hold(500, NOW);
  expect(release).not.toBeNull();
  expect(memory.hold(1, NOW)).toBeNull();
  release?.();
  expect(memory.hold(1, NOW)).not.toBeNull();
});

it("frees the memory of an invocation that never released it, after its maximum time", () => {
  const memory = new MemoryLimit(100);
  memory.hold(100, NOW);
  expect(memory.hold(1, NOW + 15 * MINUTE)).toBeNull();
  expect(memory.hold(1, NOW + 15 * MINUTE + 1)).not.toBeNull();
});
