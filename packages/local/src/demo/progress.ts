import { Presets, SingleBar } from "cli-progress";
import type { Submission } from "./api.ts";
import { count } from "./figures.ts";

export interface Progress {
  show(counts: Submission["counts"]): void;
  /** Takes the bar away, so that lines can be printed. */
  clear(): void;
}

/** How documents go from queued to succeeded: a bar on a terminal, else a line whenever something moved. */
export function startProgress(total: number, output: NodeJS.WriteStream): Progress {
  return output.isTTY ? barProgress(total, output) : lineProgress(output);
}

function barProgress(total: number, output: NodeJS.WriteStream): Progress {
  const bar = new SingleBar(
    {
      stream: output,
      format: "            {bar} {percentage}%  queued {queued} → processing {processing} → succeeded {succeeded}",
      clearOnComplete: true,
      hideCursor: true,
      gracefulExit: false,
      barsize: 24,
    },
    Presets.shades_classic,
  );
  let running = false;
  return {
    show(counts) {
      const figures = {
        queued: count(counts.queued),
        processing: count(counts.processing),
        succeeded: count(counts.succeeded),
      };
      if (!running) bar.start(total, 0, figures);
      running = true;
      bar.update(counts.succeeded + counts.failed + counts.canceled, figures);
    },
    clear() {
      if (running) bar.stop();
      running = false;
    },
  };
}

function lineProgress(output: NodeJS.WriteStream): Progress {
  let last = "";
  return {
    show({ queued, processing, succeeded }) {
      const line = `            queued ${count(queued)} → processing ${count(processing)} → succeeded ${count(succeeded)}`;
      if (line !== last) output.write(`${line}\n`);
      last = line;
    },
    clear: () => undefined,
  };
}
