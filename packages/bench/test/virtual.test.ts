import { describe, expect, it } from "vitest";
import { measureBacklog, measureLoad } from "../src/measures/capacity.ts";
import { measureFreshness } from "../src/measures/freshness.ts";
import { VirtualIsolate } from "../src/virtual/invocations.ts";

describe("an invocation on the virtual clock", () => {
  it("has at most six open calls to Workers AI, and queues the others", async () => {
    const by = new VirtualIsolate().start();
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const calls = Array.from({ length: 8 }, (_, index) =>
      by.call(() => {
        started.push(index);
        return new Promise<void>((resolve) => ends.push(resolve));
      }),
    );
    expect(started).toEqual([0, 1, 2, 3, 4, 5]);
    ends[2]?.();
    await calls[2];
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6]);
    for (let end = 0; end < 8; end += 1) {
      ends[end]?.();
      await calls[end];
    }
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("counts its own usage, and the texts held by all invocations of the isolate", () => {
    const isolate = new VirtualIsolate();
    const [first, second] = [isolate.start(), isolate.start()];
    first.countStatements(3);
    second.countStatements(2);
    second.countStatements(2);
    first.hold(10);
    second.hold(5);
    first.release(4);
    first.end();
    second.hold(9);
    expect(isolate.use).toEqual({ invocations: 2, maxStatements: 4, maxHeldBytes: 15 });
  });
});

describe("a load", () => {
  it("makes a job of each push, and scores all of a small load", async () => {
    const load = await measureLoad({
      kind: "load",
      jobs: "small",
      jobsPerMinute: 20,
      minutes: 4,
      serviceSeconds: 5,
      events: false,
    });
    expect(load.use.submits).toBe(80);
    expect(load.open).toBe(0);
    expect(load.endedPerMinute).toBeCloseTo(20, -1);
    expect(load.p50).toBeGreaterThan(5);
    expect(load.p99).toBeLessThan(120);
    expect(load.use.workers.poller.maxStatements).toBeGreaterThan(10);
  });

  it("gives the same figures each time", async () => {
    const once = () =>
      measureLoad({
        kind: "load",
        jobs: "small",
        jobsPerMinute: 60,
        minutes: 1,
        serviceSeconds: 5,
        events: true,
      });
    expect(await once()).toEqual(await once());
  });

  it("of full jobs holds the texts of all documents they represent", async () => {
    const { use } = await measureLoad({
      kind: "load",
      jobs: "full",
      jobsPerMinute: 2,
      minutes: 2,
      serviceSeconds: 5,
      events: false,
    });
    expect(use.workers.consumer.maxHeldBytes).toBeGreaterThan(8e6);
    expect(use.workers.consumer.maxHeldBytes).toBeLessThan(20e6);
  });
});

describe("a backlog", () => {
  it.each(["undispatched", "unpolled"] as const)("of %s jobs waits until it is due, then drains", async (of) => {
    const backlog = await measureBacklog({ kind: "backlog", of, jobs: 40, serviceSeconds: 5, events: false });
    expect(backlog.minutes).toBeGreaterThan(0);
    expect(backlog.minutes).toBeLessThan(5);
    expect(backlog.endedPerMinute).toBeCloseTo(40 / backlog.minutes);
  });
});

describe("freshness", () => {
  it("is seconds with events, and up to a minute more without", async () => {
    const stream = {
      kind: "freshness",
      documentsPerSecond: 1 / 2,
      push: 1,
      minutes: 1,
      serviceSeconds: 30,
      backlog: 0,
    } as const;
    const [on, off] = [
      await measureFreshness({ ...stream, events: true }),
      await measureFreshness({ ...stream, events: false }),
    ];
    expect(on.p99).toBeLessThan(40);
    expect(off.p99).toBeGreaterThan(60);
  });
});
