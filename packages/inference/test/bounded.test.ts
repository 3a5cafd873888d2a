import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { boundedBy, CallTimeout, pollBatch } from "../src/index.ts";
import { MODEL, REQUEST_ID } from "./support.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the time limit of a call", () => {
  test("covers the reading of an answer, and closes its stream", async () => {
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

  test("closes a stream that arrives too late", async () => {
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

  test("an abandoned call leaves no unhandled rejection", async () => {
    const run = () => new Promise((_resolve, reject) => setTimeout(() => reject(new Error("late")), 10));
    const abandons = () => Promise.reject(new CallTimeout(1));
    expect(await pollBatch({ run }, MODEL, REQUEST_ID, abandons)).toMatchObject({ kind: "refused" });
    await vi.advanceTimersByTimeAsync(20);
  });
});
