import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KillAt } from "../kill-matrix/director.ts";
import type { Machine } from "../kill-matrix/machine.ts";
import { playSoak } from "./play-soak.ts";
import { startSmall } from "./soak-stack.ts";
import { seededNumbers } from "./soak-documents.ts";

const LIMIT_MS = 600_000;
/** How many times as much as fits is pushed. */
const TIMES = 10;
/** One round in this many has a kill. */
const KILLED = 3;
/** The steps of each Worker at its database among which a kill is chosen. A round has at least as many. */
const STEPS = { producer: 4, consumer: 6, poller: 30 } as const;
const WORKERS = ["producer", "consumer", "poller"] as const;

describe.each([1, 2])("a small database, seed %i", (seed) => {
  const ending = new AbortController();
  let machine: Machine;
  beforeAll(async () => {
    machine = await startSmall(ending.signal);
  }, LIMIT_MS);
  afterAll(async () => {
    ending.abort();
    await machine.stop();
  }, LIMIT_MS);

  it(
    `gets ${TIMES} times what fits, and the runtime is killed at random steps`,
    async () => {
      const random = seededNumbers(seed);
      let kills = 0;
      await playSoak(machine, { seed, times: TIMES }, (): KillAt | null => {
        if (random(KILLED) > 0) return null;
        kills += 1;
        const worker = WORKERS[random(WORKERS.length)] ?? "poller";
        const moment = random(2) === 0 ? "before" : "after";
        // Any statement.
        return { worker, asked: "DB", what: "", moment, nth: 1 + random(STEPS[worker]) };
      });
      expect(kills).toBeGreaterThan(0);
    },
    LIMIT_MS,
  );
});
