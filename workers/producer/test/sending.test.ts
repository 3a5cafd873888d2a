import { describe, expect, it } from "vitest";
import { testApi } from "./api.ts";
import { lines, sendLines } from "./keyed-push.ts";

/** By far longer than a round takes to fill, in milliseconds. */
const FILLED = 700;

/** A Queue that takes its time, and how many calls were under way as each began. */
function slowQueue() {
  const underWay: number[] = [];
  let now = 0;
  const queue = {
    async sendBatch() {
      now += 1;
      underWay.push(now);
      await scheduler.wait(FILLED);
      now -= 1;
    },
  };
  return { queues: { interactive: queue, bulk: queue }, underWay };
}

describe("the calls of a push", () => {
  it("go out four together at most, those that were filled while others were under way", async () => {
    const { queues, underWay } = slowQueue();
    // Six documents fill a part, two parts a call: seven calls.
    expect((await sendLines(await testApi({ queues }), "k", lines(84))).status).toBe(202);
    expect(underWay).toEqual([1, 1, 2, 3, 4, 1, 2]);
  });

  it("do not wait for others where none is under way", async () => {
    const { queues, underWay } = slowQueue();
    expect((await sendLines(await testApi({ queues }), "k", lines(12))).status).toBe(202);
    expect(underWay).toEqual([1]);
  });
});
