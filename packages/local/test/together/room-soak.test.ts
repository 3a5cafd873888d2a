import { afterAll, beforeAll, expect, it } from "vitest";
import type { Machine } from "../kill-matrix/machine.ts";
import { LIMIT_BYTES, RoomSoak, startSmall } from "./room-soak.ts";

const SEED = 1;
/** Times what fits. */
const PUSHED_TIMES = 4;
const MAX_ROUNDS = 200;

const ending = new AbortController();
let machine: Machine;
beforeAll(async () => {
  machine = await startSmall(ending.signal);
}, 60_000);
afterAll(async () => {
  ending.abort();
  await machine.stop();
});

it("pushes four times what fits: each document ends and stays below the limit", async () => {
  const soak = new RoomSoak(machine, SEED);
  for (let round = 0; soak.acceptedBytes < PUSHED_TIMES * LIMIT_BYTES; round += 1) {
    expect(round).toBeLessThan(MAX_ROUNDS);
    const t = performance.now();
    await soak.round();
    console.log(
      round,
      Math.round(performance.now() - t),
      soak.acceptedBytes,
      soak.refused,
      soak.acceptedAfterRefusal,
      machine.director.largestDatabaseBytes,
    );
  }
  await soak.finish();
  await soak.check();
  expect(machine.director.largestDatabaseBytes).toBeLessThan(LIMIT_BYTES);
  expect(soak.refused).toBeGreaterThan(0);
  expect(soak.acceptedAfterRefusal).toBeGreaterThan(0);
}, 120_000);
