import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { withTimeout } from "../src/time-out.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const late = () => new RangeError("late");

describe("a time-out", () => {
  it("returns the result of a call in time, and leaves no timer behind", async () => {
    await expect(withTimeout(Promise.resolve(7), 1_000, late)).resolves.toBe(7);
    await expect(withTimeout(Promise.reject(new Error("no")), 1_000, late)).rejects.toThrow("no");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("rejects once the time is up, not before", async () => {
    const settled = vi.fn<(thrown: unknown) => void>();
    void withTimeout(new Promise<never>(() => {}), 1_000, late).catch(settled);
    await vi.advanceTimersByTimeAsync(999);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toHaveBeenCalledExactlyOnceWith(late());
  });

  it("ignores a failure of the call after the time-out", async () => {
    // An unhandled rejection would fail the run.
    const call = Promise.withResolvers<never>();
    const outcome = withTimeout(call.promise, 1_000, late).catch((thrown: unknown) => thrown);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await outcome).toEqual(late());
    call.reject(new Error("too late"));
    await vi.advanceTimersByTimeAsync(1);
  });
});
