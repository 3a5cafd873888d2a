import { Presets, SingleBar } from "cli-progress";
import type { Counts } from "../types.ts";
import { bytes, count, duration, harmless, oneLine } from "./text.ts";

/** What a push shows while it runs. Disposing of it clears it. */
export interface Progress extends Disposable {
  /** `size` is `null` if it is unknown. */
  sending(documents: number, sent: number, size: number | null): void;
  /** `hold` says what holds documents back, if anything does; `wait`, in a few words, what the rest waits for. */
  scoring(counts: Counts, hold: string | null, wait?: string): void;
  /** A word on why nothing moves, and for how many milliseconds more. */
  pausing(reason: string, wait: number): void;
  /** Prints a line above the bar. */
  print(line: string): void;
  /** Removes the bar. Late calls of the same phase show nothing anymore. */
  clear(): void;
}

type Phase = "sending" | "scoring";

/** A bar if `stream` is a terminal; otherwise only lines, which `note` gets. `now` in milliseconds. */
export function startProgress(stream: NodeJS.WriteStream, note: (text: string) => void, now: () => number): Progress {
  return stream.isTTY ? barProgress(stream, now) : quietProgress(note);
}

/** For output that is no terminal: a line for what holds documents back, and nothing else. */
export function quietProgress(note: (text: string) => void): Progress {
  let told: string | null = null;
  return {
    sending: () => {},
    scoring(_, hold) {
      if (hold !== null && hold !== told) note(hold);
      told = hold;
    },
    pausing(reason, wait) {
      // It may be waited for many times over: once is enough to read.
      if (reason !== told) note(`${reason}: again in ${duration(wait)}, and until it goes on`);
      told = reason;
    },
    print: note,
    clear: () => {},
    [Symbol.dispose]: () => {},
  };
}

/**
 * One bar at a time on `stream`, with the time left from the speed so far. `now` in milliseconds. However the
 * process ends, the cursor that the bar hides is shown again.
 */
export function barProgress(stream: NodeJS.WriteStream, now: () => number): Progress {
  let bar: SingleBar | null = null;
  let phase: Phase | null = null;
  const over = new Set<Phase>();
  let started = 0;
  let endedBefore = 0;
  let told: string | null = null;

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
    // A bar that nobody stops would keep the process, and the cursor hidden.
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
      // Without a size the bar stands still, and the figures move.
      const whole = size === null ? Math.max(1, sent * 2) : Math.max(size, sent);
      show("sending", "{bar} sent {sent}{of} · {documents} documents{note}", whole, sent, payload);
    },
    scoring(counts, hold, wait = "") {
      const ended = counts.succeeded + counts.failed + counts.canceled;
      if (phase !== "scoring") endedBefore = ended;
      // What to do about it does not fit beside the bar: it is told once, above.
      if (hold !== null && hold !== told && !over.has("scoring")) print(oneLine(hold));
      told = hold;
      const left =
        hold === null ? timeLeft(counts.total - ended, ended - endedBefore, now() - started) : " · held back";
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
      bar?.update({ note: ` · ${oneLine(reason)}: again in ${duration(wait)}` });
    },
    print,
    clear,
    [Symbol.dispose]: clear,
  };
}

/** By the speed since the following began: what had ended before took no time of it. */
export function timeLeft(open: number, ended: number, milliseconds: number): string {
  if (open === 0 || ended <= 0 || milliseconds <= 0) return "";
  return ` · ${duration((open * milliseconds) / ended)} left`;
}

/** What the figures leave of the line. */
function barSize(stream: NodeJS.WriteStream): number {
  return Math.max(8, Math.min(30, stream.columns - 84));
}
