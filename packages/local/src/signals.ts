import { whenReaderLeaves } from "@sluice/client/terminal";

/** One Ctrl-C reaches a process several times: from the terminal, and passed on by npx and pnpm. */
const SAME_KEY_PRESS_MS = 1_000;

const READER_LEFT = new Error("whoever read the output has left");

/**
 * A signal that aborts at the first SIGINT, SIGTERM or SIGHUP, and when whoever reads the output leaves
 * (`| head`). At a second SIGINT, SIGTERM or SIGHUP, a second or more later, the process ends at once; its
 * children end themselves when they notice.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  let first = 0;
  const onSignal = () => {
    if (!controller.signal.aborted) {
      first = performance.now();
      controller.abort();
    } else if (performance.now() - first > SAME_KEY_PRESS_MS) {
      process.exit(130);
    }
  };
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, onSignal);
  whenReaderLeaves([process.stdout, process.stderr], () => {
    first = performance.now();
    controller.abort(READER_LEFT);
  });
  return controller.signal;
}

/** Whether the signal aborted since nobody reads the output any more: the command ends quietly then, with 0. */
export function hasReaderLeft(signal: AbortSignal): boolean {
  return signal.reason === READER_LEFT;
}

/** Settles when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Waits, but not beyond the signal's abort. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ms <= 0 || signal.aborted) {
      resolve();
      return;
    }
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/** As a call, since the compiler takes a property that was false to stay so. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** The promise's value; `null` if the signal aborts first. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return Promise.race([
    promise,
    new Promise<null>((resolve) => {
      if (signal.aborted) resolve(null);
      else signal.addEventListener("abort", () => resolve(null), { once: true });
    }),
  ]);
}
