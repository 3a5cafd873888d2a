import { describe, expect, it } from "vitest";
import { testApi } from "./api.ts";
import { lines, problem, sendLines } from "./keyed-push.ts";

/** Turns of the event loop in which another call would begin, were it allowed to. */
const TURNS = 50;

/**
 * A Queue whose calls end once those beside them have begun: `rounds` says how many go out together. Gives how many
 * were under way as each began. It refuses the n-th, where one is named.
 */
function slowQueue(rounds: readonly number[], refused = 0) {
  const gates = rounds.flatMap((size) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    return Array.from({ length: size }, (_, n) => ({ promise, open: n === size - 1 ? resolve : null }));
  });
  const underWay: number[] = [];
  let now = 0;
  const queue = {
    async sendBatch() {
      now += 1;
      const call = underWay.push(now);
      const gate = gates[call - 1];
      if (gate?.open != null) {
        for (let turn = 0; turn < TURNS; turn += 1) await scheduler.wait(0);
        gate.open();
      }
      await gate?.promise;
      now -= 1;
      if (call === refused) throw new Error("the queue is gone");
    },
  };
  return { queues: { interactive: queue, bulk: queue }, underWay };
}

describe("the calls of a push", () => {
  it("go out four together at most, those that were filled while others were under way", async () => {
    const { queues, underWay } = slowQueue([1, 4, 2]);
    // Six documents fill a part, two parts a call: seven calls.
    expect((await sendLines(await testApi({ queues }), "k", lines(84))).status).toBe(202);
    expect(underWay).toEqual([1, 1, 2, 3, 4, 1, 2]);
  });

  it.each([1, 2, 4, 5, 6, 7])(
    "end the push with 503 where the Queue refuses one of them, call %i of seven",
    async (refused) => {
      const response = await sendLines(await testApi({ queues: slowQueue([1, 4, 2], refused).queues }), "k", lines(84));
      expect(response.status).toBe(503);
      const again = await sendLines(await testApi({ queues: slowQueue([]).queues }), "k", lines(84));
      expect(again.status).toBe(202);
      expect(await again.json()).toMatchObject({
        submission: { id: (await problem(response)).submission },
        accepted: 84,
      });
    },
  );

  it("do not wait for others where none is under way", async () => {
    const { queues, underWay } = slowQueue([1]);
    expect((await sendLines(await testApi({ queues }), "k", lines(12))).status).toBe(202);
    expect(underWay).toEqual([1]);
  });
});
