import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { barProgress, timeLeft } from "../../src/cli/progress.ts";
import type { Counts } from "../../src/types.ts";

const counts = (more: Partial<Counts>): Counts => ({
  total: 100,
  queued: 0,
  processing: 0,
  succeeded: 0,
  failed: 0,
  canceled: 0,
  ...more,
});

test("the time left is by what ended since the following began", () => {
  expect(timeLeft(80, 20, 5_000)).toBe(" · 20 s left");
  expect([timeLeft(80, 0, 5_000), timeLeft(0, 20, 5_000), timeLeft(80, 20, 0)]).toEqual(["", "", ""]);
});

/** A terminal as far as the bar looks at it. */
function terminal() {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 120 });
  const read = () => ((stream.read() as Buffer | null) ?? "").toString();
  return { stream: stream as unknown as NodeJS.WriteStream, read };
}

function cursorOf(written: string): "shown" | "hidden" {
  return written.lastIndexOf("\u{1b}[?25h") > written.lastIndexOf("\u{1b}[?25l") ? "shown" : "hidden";
}

test("what ended before the following began takes no part in the time left", () => {
  const { stream, read } = terminal();
  const clock = { now: 0 };
  const progress = barProgress(stream, () => clock.now);
  progress.scoring(counts({ processing: 20, succeeded: 80 }), null);
  clock.now = 2_000;
  progress.scoring(counts({ processing: 10, succeeded: 90 }), null);
  progress.clear();
  expect(read()).toContain("90% · queued 0 → processing 10 → succeeded 90 · 2.0 s left");
});

test("what holds a push back is told once, in a line of its own, and the bar goes on below", () => {
  const { stream, read } = terminal();
  const progress = barProgress(stream, () => 0);
  const hold = "it is paused: sluice resume --submission sub_01a22944-dad6-7dc1-aa74-dc2c6fe590c5";
  for (let look = 0; look < 3; look += 1) progress.scoring(counts({ processing: 100 }), hold);
  progress.clear();
  const told = read();
  expect(told.split(`${hold}\n`)).toHaveLength(2);
  expect(told).toContain("processing 100 → succeeded 0 · held back");
});

test("without a size, what is packed, only what went out is told", () => {
  const { stream, read } = terminal();
  const progress = barProgress(stream, () => 0);
  progress.sending(3, 2_000, null);
  progress.pausing("the earlier push is not over", 2_000);
  progress.clear();
  expect(read()).toContain("sent 2.0 KB · 3 documents · the earlier push is not over: again in 2.0 s");
});

test("what comes late after the bar was taken away starts none, and the cursor is there", () => {
  vi.useFakeTimers();
  try {
    const { stream, read } = terminal();
    const progress = barProgress(stream, () => 0);
    progress.sending(3, 2_000, 10_000);
    progress.clear();
    expect(cursorOf(read())).toBe("shown");
    progress.sending(4, 3_000, 10_000);
    progress.pausing("No answer", 2_000);
    expect([read(), vi.getTimerCount()]).toEqual(["", 0]);
    // The phase that follows has a bar of its own, and ends the same way.
    progress.scoring(counts({ processing: 100 }), null);
    expect(cursorOf(read())).toBe("hidden");
    progress.clear();
    expect(cursorOf(read())).toBe("shown");
    progress.scoring(counts({ processing: 100 }), "it is paused");
    expect([read(), vi.getTimerCount()]).toEqual(["", 0]);
  } finally {
    vi.useRealTimers();
  }
});

test("a bar that never began stays away too", () => {
  const { stream, read } = terminal();
  const progress = barProgress(stream, () => 0);
  progress.clear();
  progress.sending(3, 2_000, 10_000);
  expect(read()).toBe("");
});
