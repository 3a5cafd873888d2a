import { describe, expect, it } from "vitest";
import { backoffUntil, nextMidnight, nextPollAt } from "../src/index.ts";

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("the next poll of a job", () => {
  const wait = (age: number) => nextPollAt(NOW, NOW - age, MINUTE) - NOW;

  it("is due at the next run until the job is ten runs old, and before a run that starts half a run early", () => {
    for (const age of [0, MINUTE, 9 * MINUTE, 10 * MINUTE - 1]) expect(wait(age)).toBe(MINUTE / 2);
  });

  it("is due after a tenth of its age from then on", () => {
    expect(wait(10 * MINUTE)).toBe(MINUTE);
    expect(wait(2 * HOUR)).toBe(12 * MINUTE);
  });
});

describe("the next try after refusals", () => {
  const wait = (tries: number, random = 0) => backoffUntil(NOW, tries, MINUTE, random) - NOW;

  it("doubles from half a run up to a quarter of an hour", () => {
    expect([1, 2, 3, 4, 5, 6, 7].map((tries) => wait(tries) / MINUTE)).toEqual([0.5, 1, 2, 4, 8, 15, 15]);
    expect(wait(10_000)).toBe(15 * MINUTE);
  });

  it("adds up to as much again at random", () => {
    expect(wait(3, 0.5)).toBe(3 * MINUTE);
    expect(wait(3, 0.999_999)).toBeLessThanOrEqual(4 * MINUTE);
  });
});

it("the next midnight is later than now and on a day's border in UTC", () => {
  expect(new Date(nextMidnight(Date.UTC(2026, 10, 29, 23, 59, 59, 999))).toISOString()).toBe(
    "2026-11-30T00:00:00.000Z",
  );
  expect(new Date(nextMidnight(Date.UTC(2026, 10, 29))).toISOString()).toBe("2026-11-30T00:00:00.000Z");
});
