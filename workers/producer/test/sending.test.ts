import { describe, expect, it } from "vitest";
import { testApi } from "./api.ts";
import { lines, problem, sendLines } from "./keyed-push.ts";

/** By far longer than a round takes to fill, in milliseconds. */
const FILLED = 700;

/** A Queue that takes its time, and how many calls were under way as each began. It refuses the n-th, where one is named. */
function slowQueue(refused = 0) {
  const underWay: number[] = [];
  let now = 0;
  const queue = {
    async sendBatch() {
      now += 1;
      const call = underWay.push(now);
      await scheduler.wait(FILLED);
      now -= 1;
      if (call === refused) throw new Error("the queue is gone");
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

  it.each([1, 2, 4, 5, 6, 7])(
    "end the push with 503 where the Queue refuses one of them, call %i of seven",
    async (refused) => {
      const response = await sendLines(await testApi({ queues: slowQueue(refused).queues }), "k", lines(84));
      expect(response.status).toBe(503);
      const again = await sendLines(await testApi({ queues: slowQueue().queues }), "k", lines(84));
      expect(again.status).toBe(202);
      expect(await again.json()).toMatchObject({
        submission: { id: (await problem(response)).submission },
        accepted: 84,
      });
    },
  );

  it("do not wait for others where none is under way", async () => {
    const { queues, underWay } = slowQueue();
    expect((await sendLines(await testApi({ queues }), "k", lines(12))).status).toBe(202);
    expect(underWay).toEqual([1]);
  });
});
