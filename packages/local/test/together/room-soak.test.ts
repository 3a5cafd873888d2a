import { afterAll, beforeAll, expect, it } from "vitest";
import type { Machine } from "../kill-matrix/machine.ts";
import { playSoak } from "./play-soak.ts";
import { startSmall } from "./soak-stack.ts";

const ending = new AbortController();
let machine: Machine;
beforeAll(async () => {
  machine = await startSmall(ending.signal);
}, 60_000);
afterAll(async () => {
  ending.abort();
  await machine.stop();
}, 60_000);

it("pushes four times what fits: each document ends, and the database stays below its limit", async () => {
  const soak = await playSoak(machine, { seed: 1, times: 4 });
  expect([soak.unanswered, soak.lost]).toEqual([0, 0]);
}, 180_000);
