import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { boundedBy, CallTimeout, pollBatch } from "../src/index.ts";
import { MODEL, REQUEST_ID } from "./support.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a bound on a call's time", () => {
  test("gives what the call gives, and leaves no timer behind", async () => {
    await expect(boundedBy(1000)(Promise.resolve(7))).resolves.toBe(7);
    await expect(boundedBy(1000)(Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("rejects when the time is up, and a later failure of the call goes nowhere", async () => {
    // An unhandled rejection fails the run by itself.
    let fail = (_reason: Error) => {};
    const call = new Promise<never>((_resolve, reject) => {
      fail = reject;
    });
    const outcome = boundedBy(1000)(call).catch((thrown: unknown) => thrown);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await outcome).toBeInstanceOf(CallTimeout);
    fail(new Error("too late"));
    await vi.advanceTimersByTimeAsync(1);
  });

  test("covers the reading of an answer, and lets go of its stream", async () => {
    let canceled = false;
    const stalled = new ReadableStream({
      cancel: () => {
        canceled = true;
      },
    });
    const outcome = pollBatch({ run: async () => stalled }, MODEL, REQUEST_ID, boundedBy(1000));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await outcome).toMatchObject({
      kind: "refused",
      refusal: { class: "retry", message: "Workers AI did not answer within 1 s.", mayBeRunning: true },
    });
    expect(canceled).toBe(true);
  });

  test("a stream that comes after its time is let go of too", async () => {
    let canceled = false;
    const late = new ReadableStream({
      cancel: () => {
        canceled = true;
      },
    });
    const run = () => new Promise((resolve) => setTimeout(() => resolve(late), 2000));
    const outcome = pollBatch({ run }, MODEL, REQUEST_ID, boundedBy(1000));
    await vi.advanceTimersByTimeAsync(2000);
    expect(await outcome).toMatchObject({ kind: "refused" });
    expect(canceled).toBe(true);
  });

  test("a bound that abandons the call leaves no rejection unhandled", async () => {
    const run = () => new Promise((_resolve, reject) => setTimeout(() => reject(new Error("late")), 10));
    const abandons = () => Promise.reject(new CallTimeout(1));
    expect(await pollBatch({ run }, MODEL, REQUEST_ID, abandons)).toMatchObject({ kind: "refused" });
    await vi.advanceTimersByTimeAsync(20);
  });
});
