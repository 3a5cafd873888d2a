import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Director } from "./director.ts";
import type { Step } from "./step.ts";
import { after, before, steps } from "./steps.ts";

const SHORT_MS = 300;

let director: Director;
let kills: number;
beforeEach(async () => {
  kills = 0;
  director = await Director.start(async () => {
    kills += 1;
  }, SHORT_MS);
});
afterEach(() => director.stop());

/** As a Worker does: gives whether it may go on. */
async function tell(step: Partial<Step>): Promise<boolean> {
  const whole = { worker: "producer", isolate: "first", asked: "INTERACTIVE", what: "sendBatch", moment: "before" };
  const told = fetch(director.url, { method: "POST", body: JSON.stringify({ ...whole, ...step }) });
  return told.then(
    (response) => response.ok,
    () => false,
  );
}

describe("the director of a kill", () => {
  it("fails where its step is never reached, and tells what was", async () => {
    const other = () => tell({ moment: "after" });
    await expect(director.killAt(before(steps.send), other)).rejects.toThrow(
      /never reached; seen: producer INTERACTIVE sendBatch \(after\)/,
    );
    expect(kills).toBe(0);
  });

  it("tells why what leads to the step broke off", async () => {
    const broken = () => Promise.reject(new Error("answered with 422"));
    await expect(director.killAt(before(steps.send), broken)).rejects.toThrow(/broke off: answered with 422/);
  });

  it("fails where the runtime does not come back", async () => {
    const broken = await Director.start(() => Promise.reject(new Error("it did not come up")), SHORT_MS);
    const sent = {
      worker: "producer",
      isolate: "first",
      asked: "DB",
      what: "INSERT INTO submissions",
      moment: "after",
    };
    const send = () => fetch(broken.url, { method: "POST", body: JSON.stringify(sent) });
    await expect(broken.killAt(after(steps.open), send)).rejects.toThrow("it did not come up");
    broken.stop();
  });

  it("lets everything before the n-th such step go on, and nothing of that runtime after it", async () => {
    const wentOn: boolean[] = [];
    await director.killAt(before(steps.send, { nth: 2 }), async () => {
      wentOn.push(await tell({}), await tell({ moment: "after" }), await tell({ what: "send" }));
      wentOn.push(await tell({}));
    });
    expect(wentOn).toEqual([true, true, true, false]);
    expect(kills).toBe(1);
    expect([await tell({}), await tell({ isolate: "second" })]).toEqual([false, true]);
  });

  it("holds a step until the kill, as one that never began", async () => {
    const held: Promise<boolean>[] = [];
    await director.killAt(after(steps.send, { holds: [steps.delivery] }), async () => {
      held.push(tell({ worker: "consumer", asked: "run", what: "sluice-bulk" }));
      await director.untilIdle();
      await tell({ moment: "after" });
    });
    expect(await Promise.all(held)).toEqual([false]);
  });

  it("does not let time pass while an invocation is under way", async () => {
    await tell({ asked: "run", what: "scheduled" });
    await expect(director.passTime(1_000)).rejects.toThrow("do not come to an end");
    await tell({ asked: "run", what: "scheduled", moment: "after" });
    await director.passTime(1_000);
  });
});
