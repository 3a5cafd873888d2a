import { Presets, SingleBar } from "cli-progress";
import type { Submission } from "./api.ts";
import { count } from "./figures.ts";

export interface Progress extends Disposable {
  /** `wait`: what it waits for, in a few words; empty where it waits for nothing in particular. */
  show(counts: Submission["counts"], wait?: string): void;
  /** Takes the bar away, so that lines can be printed. */
  clear(): void;
}

/** How documents go from queued to succeeded: a bar on a terminal, else a line whenever something moved. */
export function startProgress(total: number, output: NodeJS.WriteStream): Progress {
  return output.isTTY ? barProgress(total, output) : lineProgress(output);
}

/** Below this, the bar gives way to the figures. */
const WIDE = 110;

function barProgress(total: number, output: NodeJS.WriteStream): Progress {
  const wide = output.columns >= WIDE;
  const bar = new SingleBar(
    {
      stream: output,
      format: `${" ".repeat(wide ? 12 : 0)}{bar} {percentage}% queued {queued} → processing {processing} → succeeded {succeeded}{wait}`,
      clearOnComplete: true,
      hideCursor: true,
      gracefulExit: false,
      linewrap: false,
      barsize: wide ? 24 : 8,
    },
    Presets.shades_classic,
  );
  let running = false;
  const clear = () => {
    if (running) bar.stop();
    running = false;
  };
  // Whatever ends the process: a hidden cursor stays hidden.
  process.on("exit", clear);
  return {
    show(counts, wait = "") {
      const figures = {
        queued: count(counts.queued),
        processing: count(counts.processing),
        succeeded: count(counts.succeeded),
        wait: wait === "" ? "" : ` (${wait})`,
      };
      if (!running) bar.start(total, 0, figures);
      running = true;
      bar.update(counts.succeeded + counts.failed + counts.canceled, figures);
    },
    clear,
    [Symbol.dispose]() {
      clear();
      process.off("exit", clear);
    },
  };
}

function lineProgress(output: NodeJS.WriteStream): Progress {
  let last = "";
  let waited = false;
  return {
    show({ queued, processing, succeeded }, wait = "") {
      const line = `            queued ${count(queued)} → processing ${count(processing)} → succeeded ${count(succeeded)}`;
      // A wait is told once: its time would make a line every second.
      if (line === last && (waited || wait === "")) return;
      waited = wait !== "";
      output.write(`${line}${waited ? ` (${wait})` : ""}\n`);
      last = line;
    },
    clear: () => undefined,
    [Symbol.dispose]: () => undefined,
  };
}
