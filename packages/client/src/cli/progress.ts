import { Presets, SingleBar } from "cli-progress";
import type { Counts } from "../types.ts";
import { bytes, count, duration, harmless, oneLine } from "./text.ts";

/** The progress display of a push. Disposing of it clears the display. */
export interface Progress extends Disposable {
  /** `size` is `null` if it is unknown. */
  sending(documents: number, sent: number, size: number | null): void;
  /** `hold` says what blocks the documents, if anything; `wait` says briefly what the rest waits for. */
  scoring(counts: Counts, hold: string | null, wait?: string): void;
  /** Shows why nothing moves, and the remaining milliseconds. */
  pausing(reason: string, wait: number): void;
  /** Prints a line above the bar. */
  print(line: string): void;
  /** Removes the bar. Later calls in the same phase show nothing. */
  clear(): void;
}

type Phase = "sending" | "scoring";

/** Returns a bar if `stream` is a terminal, otherwise plain lines through `note`. `now` is in milliseconds. */
export function startProgress(stream: NodeJS.WriteStream, note: (text: string) => void, now: () => number): Progress {
  return stream.isTTY ? barProgress(stream, now) : quietProgress(note);
}

/** Progress without a terminal: prints only what blocks documents, one line each. */
export function quietProgress(note: (text: string) => void): Progress {
  let shown: string | null = null;
  return {
    sending: () => {},
    scoring(_, hold) {
      if (hold !== null && hold !== shown) note(hold);
      shown = hold;
    },
    pausing(reason, wait) {
      // The same wait may repeat many times. One line is enough.
      if (reason !== shown) note(`${reason}: retrying in ${duration(wait)}, then until it succeeds`);
      shown = reason;
    },
    print: note,
    clear: () => {},
    [Symbol.dispose]: () => {},
  };
}

/**
 * Shows one bar at a time on `stream`, with the remaining time estimated from the speed so far. `now` is in
 * milliseconds. However the process ends, the cursor hidden by the bar is shown again.
 */
export function barProgress(stream: NodeJS.WriteStream, now: () => number): Progress {
  let bar: SingleBar | null = null;
  let phase: Phase | null = null;
  const over = new Set<Phase>();
  let started = 0;
  let endedBefore = 0;
  let shown: string | null = null;

  const stop = () => {
    bar?.stop();
    bar = null;
    process.off("exit", stop);
  };
  const print = (line: string) => {
    stop();
    stream.write(`${harmless(line)}\n`);
  };
  const clear = () => {
    over.add(phase ?? "sending");
    stop();
  };

  const show = (name: Phase, format: string, total: number, value: number, payload: Record<string, string>) => {
    // A bar that is never stopped would keep the process running and the cursor hidden.
    if (over.has(name)) return;
    if (bar === null || phase !== name) {
      stop();
      if (phase !== name) started = now();
      phase = name;
      bar = new SingleBar(
        { stream, format, barsize: barSize(stream), clearOnComplete: true, hideCursor: true, gracefulExit: false },
        Presets.shades_classic,
      );
      process.on("exit", stop);
      bar.start(total, 0, payload);
    }
    bar.setTotal(total);
    bar.update(value, payload);
  };

  return {
    sending(documents, sent, size) {
      const of = size === null ? "" : ` of ${bytes(size)}`;
      const payload = { sent: bytes(sent), documents: count(documents), of, note: "" };
      // Without a size the bar is static; only the figures change.
      const whole = size === null ? Math.max(1, sent * 2) : Math.max(size, sent);
      show("sending", "{bar} sent {sent}{of} · {documents} documents{note}", whole, sent, payload);
    },
    scoring(counts, hold, wait = "") {
      const ended = counts.succeeded + counts.failed + counts.canceled;
      if (phase !== "scoring") endedBefore = ended;
      // The full text does not fit beside the bar, so it is printed once above it.
      if (hold !== null && hold !== shown && !over.has("scoring")) print(oneLine(hold));
      shown = hold;
      const left = hold === null ? timeLeft(counts.total - ended, ended - endedBefore, now() - started) : " · blocked";
      show(
        "scoring",
        "{bar} {percentage}% · queued {queued} → processing {processing} → succeeded {succeeded}{failed}{left}{note}",
        counts.total,
        ended,
        {
          queued: count(counts.queued),
          processing: count(counts.processing),
          succeeded: count(counts.succeeded),
          failed: counts.failed > 0 ? ` · failed ${count(counts.failed)}` : "",
          left,
          note: wait === "" ? "" : ` · ${wait}`,
        },
      );
    },
    pausing(reason, wait) {
      bar?.update({ note: ` · ${oneLine(reason)}: retrying in ${duration(wait)}` });
    },
    print,
    clear,
    [Symbol.dispose]: clear,
  };
}

/** Estimates from the speed since following began. Documents that ended earlier do not count. */
export function timeLeft(open: number, ended: number, milliseconds: number): string {
  if (open === 0 || ended <= 0 || milliseconds <= 0) return "";
  return ` · ${duration((open * milliseconds) / ended)} left`;
}

/** What fits on the line after the figures. */
function barSize(stream: NodeJS.WriteStream): number {
  return Math.max(8, Math.min(30, stream.columns - 84));
}
