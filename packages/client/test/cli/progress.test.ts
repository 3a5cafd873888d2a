import { spawnSync } from "node:child_process";
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { barProgress, startProgress, timeLeft } from "../../src/cli/progress.ts";
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

test("estimates the time left from documents that end after following began", () => {
  expect(timeLeft(80, 20, 5_000)).toBe(" · 20 s left");
  expect([timeLeft(80, 0, 5_000), timeLeft(0, 20, 5_000), timeLeft(80, 20, 0)]).toEqual(["", "", ""]);
});

/** The parts of a terminal that the bar uses. */
function terminal() {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 120 });
  const read = () => ((stream.read() as Buffer | null) ?? "").toString();
  return { stream: stream as unknown as NodeJS.WriteStream, read };
}

function cursorOf(written: string): "shown" | "hidden" {
  return written.lastIndexOf("\u{1b}[?25h") > written.lastIndexOf("\u{1b}[?25l") ? "shown" : "hidden";
}

test("excludes documents that ended before following began", () => {
  const { stream, read } = terminal();
  const clock = { now: 0 };
  const progress = barProgress(stream, () => clock.now);
  progress.scoring(counts({ processing: 20, succeeded: 80 }), null);
  clock.now = 2_000;
  progress.scoring(counts({ processing: 10, succeeded: 90 }), null);
  progress.clear();
  expect(read()).toContain("90% · queued 0 → processing 10 → succeeded 90 · 2.0 s left");
});

test("prints once what blocks a push, above the bar", () => {
  const { stream, read } = terminal();
  const progress = barProgress(stream, () => 0);
  const hold = "it is paused: sluice resume --submission sub_01a22944-dad6-7dc1-aa74-dc2c6fe590c5";
  for (let look = 0; look < 3; look += 1) progress.scoring(counts({ processing: 100 }), hold);
  progress.clear();
  const printed = read();
  expect(printed.split(`${hold}\n`)).toHaveLength(2);
  expect(printed).toContain("processing 100 → succeeded 0 · blocked");
});

test("shows only what was sent if the size is unknown", () => {
  const { stream, read } = terminal();
  const progress = barProgress(stream, () => 0);
  progress.sending(3, 2_000, null);
  progress.pausing("an earlier push is still running", 2_000);
  progress.clear();
  expect(read()).toContain("sent 2.0 KB · 3 documents · an earlier push is still running: retrying in 2.0 s");
});

test("a late call after the bar is removed shows no bar and leaves the cursor visible", () => {
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
    // The next phase has its own bar, which ends the same way.
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

test("a bar that never started does not appear after it is cleared", () => {
  const { stream, read } = terminal();
  const progress = barProgress(stream, () => 0);
  progress.clear();
  progress.sending(3, 2_000, 10_000);
  expect(read()).toBe("");
});

test("prints a line above the bar and keeps the bar below", () => {
  const { stream, read } = terminal();
  const progress = barProgress(stream, () => 0);
  progress.scoring(counts({ processing: 100 }), null, "waits for its answer, in 14 s");
  expect(read()).toContain("succeeded 0 · waits for its answer, in 14 s");
  progress.print("dispatched  1 job");
  const printed = read();
  expect(printed.endsWith("dispatched  1 job\n")).toBe(true);
  expect(cursorOf(printed)).toBe("shown");
  progress.scoring(counts({ processing: 100 }), null);
  expect(read()).toContain("succeeded 0");
  progress.clear();
});

test("a bar shows the cursor and removes its listeners, even after an error", () => {
  const { stream, read } = terminal();
  const listeners = process.listenerCount("exit");
  const broken = () => {
    using progress = barProgress(stream, () => 0);
    progress.scoring(counts({ processing: 100 }), null);
    expect(process.listenerCount("exit")).toBe(listeners + 1);
    throw new Error("broken");
  };
  expect(broken).toThrow("broken");
  expect(cursorOf(read())).toBe("shown");
  expect(process.listenerCount("exit")).toBe(listeners);
});

test("shows the cursor again if the process ends during a bar", () => {
  const progress = JSON.stringify(import.meta.resolve("../../src/cli/progress.ts"));
  const program = `const { barProgress } = await import(${progress});
    process.stdout.isTTY = true;
    Object.assign(process.stdout, { columns: 120, cursorTo() {}, moveCursor() {}, clearLine() {} });
    barProgress(process.stdout, () => 0).scoring(${JSON.stringify(counts({ processing: 100 }))}, null);
    process.exit(130);`;
  const { stdout } = spawnSync(process.execPath, ["--no-warnings", "--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  expect(cursorOf(stdout)).toBe("shown");
  expect(stdout).toContain("\u{1b}[?25l");
});

test("prints lines to the caller instead of a bar without a terminal", () => {
  const lines: string[] = [];
  const stream = new PassThrough();
  using progress = startProgress(
    stream as unknown as NodeJS.WriteStream,
    (line) => lines.push(line),
    () => 0,
  );
  progress.scoring(counts({ processing: 100 }), null, "waits for its answer");
  progress.scoring(counts({ processing: 100 }), "it is paused");
  progress.scoring(counts({ processing: 100 }), "it is paused");
  progress.print("scored");
  expect([lines, stream.read()]).toEqual([["it is paused", "scored"], null]);
});
