import { expect, it } from "vitest";
import { Random } from "../src/random.ts";
import { Invocation } from "../src/world/invocation.ts";
import { runIsolated } from "../src/world/isolate.ts";
import { Timeline } from "../src/world/timeline.ts";

const HOUR = 3_600_000;

function start(run: () => Promise<void>) {
  const timeline = new Timeline(1_000);
  const by = new Invocation(timeline, "consumer", 1, 500);
  const lines: string[] = [];
  const isolate = { by, random: new Random(1), log: (line: string) => lines.push(line) };
  timeline.wake();
  const ended = runIsolated(isolate, run).finally(() => by.finish());
  return { timeline, lines, ended };
}

it("gives a Worker its own clock, timers and console, also after an await", async () => {
  const times: number[] = [];
  const { timeline, lines, ended } = start(async () => {
    times.push(Date.now());
    await new Promise((resolve) => setTimeout(resolve, HOUR));
    times.push(Date.now());
    console.log("a line");
  });
  await timeline.runUntil(2 * HOUR, () => false);
  await ended;
  expect(times).toEqual([1_500, 1_500 + HOUR]);
  expect(lines).toEqual(["a line"]);
  expect(Date.now()).toBeGreaterThan(2 * HOUR);
});

it("does not run or wait for a cleared timer", async () => {
  const ran: string[] = [];
  const { timeline, ended } = start(async () => {
    const cleared = setTimeout(() => ran.push("cleared"), 10);
    const kept = new Promise<void>((resolve) => setTimeout(() => resolve(void ran.push("kept")), 20));
    clearTimeout(cleared);
    await kept;
  });
  await timeline.runUntil(HOUR, () => false);
  await ended;
  expect(ran).toEqual(["kept"]);
});

it("draws a Worker's random numbers from the seed", async () => {
  const draws = async () => {
    const drawn: number[] = [];
    const { timeline, ended } = start(async () => {
      drawn.push(Math.random(), ...crypto.getRandomValues(new Uint8Array(4)));
    });
    await timeline.runUntil(HOUR, () => false);
    await ended;
    return drawn;
  };
  expect(await draws()).toEqual(await draws());
});
