import { afterAll, beforeAll, describe, it } from "vitest";
import { checkDispatches } from "./dispatches.ts";
import { checkEnds } from "./ends.ts";
import { Machine } from "./machine.ts";
import type { KillPoint } from "./points.ts";
import { Stage, type ExpectedEnd } from "./scene.ts";
import { checkTables } from "./tables.ts";
import { checkWhole } from "./whole.ts";

/** Timeout in milliseconds of a start or stop of the runtime and the work between them, on a busy machine. */
const LIMIT_MS = 180_000;
const inOrder = { timeout: LIMIT_MS, concurrent: false };

/**
 * Checks the promises on the real runtime: it is killed at each point, restarted on the same state, and everything must
 * end correctly. All points share one state, so that its history grows.
 */
export function playMatrix(what: string, points: readonly KillPoint[]): void {
  describe(`${what}: the runtime is killed and restarted on the same state when`, { concurrent: true }, () => {
    const ending = new AbortController();
    const all: ExpectedEnd[] = [];
    let machine: Machine;
    beforeAll(async () => {
      machine = await Machine.start(ending.signal);
    }, LIMIT_MS);
    afterAll(async () => {
      ending.abort();
      await machine.stop();
    }, LIMIT_MS);

    const rows = points.map(([name, at, scene, cost = {}]) => [name, at, scene, cost] as const);
    it.each(rows)("%s", inOrder, async (name, at, scene, cost) => {
      const expected = await scene(new Stage(machine, name.replaceAll(/[^a-z_]+/gi, "-").slice(0, 64), at));
      all.push(...expected);
      await checkTables(
        machine,
        expected.map(({ submission }) => submission),
      );
      for (const end of expected) await checkEnds(machine, end);
      await checkDispatches(machine, expected, cost);
    });

    it("everything above has happened on the same state", inOrder, () => checkWhole(machine, all));
  });
}
