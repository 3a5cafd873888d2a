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

/** Asks the director like a Worker. Returns whether it may continue. */
async function tell(step: Partial<Step>): Promise<boolean> {
  const whole = { worker: "producer", isolate: "first", asked: "INTERACTIVE", what: "sendBatch", moment: "before" };
  const told = fetch(director.url, { method: "POST", body: JSON.stringify({ ...whole, ...step }) });
  return told.then(
    (response) => response.ok,
    () => false,
  );
}

describe("the kill director", () => {
  it("fails if its step is never reached, and lists the steps seen", async () => {
    const other = () => tell({ moment: "after" });
    await expect(director.killAt(before(steps.send), other)).rejects.toThrow(
      /never reached; seen: producer INTERACTIVE sendBatch \(after\)/,
    );
    expect(kills).toBe(0);
  });

  it("reports why the action before the step failed", async () => {
    const broken = () => Promise.reject(new Error("answered with 422"));
    await expect(director.killAt(before(steps.send), broken)).rejects.toThrow(/failed: answered with 422/);
  });

  it("fails if the runtime does not restart", async () => {
    const broken = await Director.start(() => Promise.reject(new Error("it did not start")), SHORT_MS);
    const sent = {
      worker: "producer",
      isolate: "first",
      asked: "DB",
      what: "INSERT INTO submissions",
      moment: "after",
    };
    const send = () => fetch(broken.url, { method: "POST", body: JSON.stringify(sent) });
    await expect(broken.killAt(after(steps.open), send)).rejects.toThrow("it did not start");
    broken.stop();
  });

  it("lets steps continue up to the n-th match, and none of that runtime after it", async () => {
    const wentOn: boolean[] = [];
    await director.killAt(before(steps.send, { nth: 2 }), async () => {
      wentOn.push(await tell({}), await tell({ moment: "after" }), await tell({ what: "send" }));
      wentOn.push(await tell({}));
    });
    expect(wentOn).toEqual([true, true, true, false]);
    expect(kills).toBe(1);
    expect([await tell({}), await tell({ isolate: "second" })]).toEqual([false, true]);
  });

  it("blocks a held step until the kill", async () => {
    const held: Promise<boolean>[] = [];
    await director.killAt(after(steps.send, { holds: [steps.delivery] }), async () => {
      held.push(tell({ worker: "consumer", asked: "run", what: "sluice-bulk" }));
      await director.untilIdle();
      await tell({ moment: "after" });
    });
    expect(await Promise.all(held)).toEqual([false]);
  });

  it("does not advance the clock during an invocation", async () => {
    await tell({ asked: "run", what: "scheduled" });
    await expect(director.passTime(1_000)).rejects.toThrow("do not finish");
    await tell({ asked: "run", what: "scheduled", moment: "after" });
    await director.passTime(1_000);
  });
});
