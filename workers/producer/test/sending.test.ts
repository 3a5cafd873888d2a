import { describe, expect, it } from "vitest";
import { testApi } from "./api.ts";
import { lines, problem, sendLines } from "./keyed-push.ts";

/** Turns of the event loop in which another call would start if it were allowed. */
const TURNS = 50;

/**
 * A Queue whose calls end once the others of their round have started: `rounds` has the number of calls of each. Gives how
 * many were in progress as each started. It refuses call number `refused`.
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

describe("calls of a push", () => {
  it("go out four at a time at most, those that were filled while others were in progress", async () => {
    const { queues, underWay } = slowQueue([1, 4, 2]);
    // Six documents fill a part, two parts a call: seven calls.
    expect((await sendLines(await testApi({ queues }), "k", lines(84))).status).toBe(202);
    expect(underWay).toEqual([1, 1, 2, 3, 4, 1, 2]);
  });

  it.each([1, 2, 4, 5, 6, 7])("end the push with 503 if the Queue refuses one, call %i of seven", async (refused) => {
    const response = await sendLines(await testApi({ queues: slowQueue([1, 4, 2], refused).queues }), "k", lines(84));
    expect(response.status).toBe(503);
    const again = await sendLines(await testApi({ queues: slowQueue([]).queues }), "k", lines(84));
    expect(again.status).toBe(202);
    expect(await again.json()).toMatchObject({
      submission: { id: (await problem(response)).submission },
      accepted: 84,
    });
  });

  it("do not wait if none is in progress", async () => {
    const { queues, underWay } = slowQueue([1]);
    expect((await sendLines(await testApi({ queues }), "k", lines(12))).status).toBe(202);
    expect(underWay).toEqual([1]);
  });
});
