import { describe, expect, it } from "vitest";
import { backoffUntil, firstPollAt, nextMidnight } from "../../src/job/schedule.ts";

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("the first poll of a job", () => {
  it("is due ten seconds after its dispatch, or sooner with a shorter run interval", () => {
    expect(firstPollAt(NOW, MINUTE) - NOW).toBe(10_000);
    expect(firstPollAt(NOW, HOUR) - NOW).toBe(10_000);
    expect(firstPollAt(NOW, 1_200) - NOW).toBe(200);
  });
});

describe("the next dispatch after refusals", () => {
  const wait = (tries: number, random = 0) => backoffUntil(NOW, tries, MINUTE, random) - NOW;

  it("is delayed from half a run, doubling, up to 15 minutes", () => {
    expect([1, 2, 3, 4, 5, 6, 7].map((tries) => wait(tries) / MINUTE)).toEqual([0.5, 1, 2, 4, 8, 15, 15]);
    expect(wait(10_000)).toBe(15 * MINUTE);
  });

  it("is delayed by up to the same amount at random", () => {
    expect(wait(3, 0.5)).toBe(3 * MINUTE);
    expect(wait(3, 0.999_999)).toBeLessThanOrEqual(4 * MINUTE);
  });
});

it("the next midnight is later than now and starts a UTC day", () => {
  expect(new Date(nextMidnight(Date.UTC(2026, 10, 29, 23, 59, 59, 999))).toISOString()).toBe(
    "2026-11-30T00:00:00.000Z",
  );
  expect(new Date(nextMidnight(Date.UTC(2026, 10, 29))).toISOString()).toBe("2026-11-30T00:00:00.000Z");
});
