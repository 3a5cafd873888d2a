import { afterAll, beforeAll, describe, it } from "vitest";
import { checkDispatches } from "./dispatches.ts";
import { checkEnds } from "./ends.ts";
import { Machine } from "./machine.ts";
import type { KillPoint } from "./points.ts";
import { Stage, type ExpectedEnd } from "./scene.ts";
import { checkTables } from "./tables.ts";
import { checkWhole } from "./whole.ts";

/** A start or an end of the runtime, and what comes between two, on a machine with much else to do. */
const LIMIT_MS = 180_000;
const inOrder = { timeout: LIMIT_MS, concurrent: false };

/**
 * The promises on the real runtime: it is killed at each of the points, started again on the same state,
 * and everything ends as it should. One state goes through all of them, so that its history grows.
 */
export function playMatrix(what: string, points: readonly KillPoint[]): void {
  describe(`${what}: the runtime is killed, and started again on the same state, when`, { concurrent: true }, () => {
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

    it("all of this happened, one after the other", inOrder, () => checkWhole(machine, all));
  });
}
