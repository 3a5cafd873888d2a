import { whenReaderLeaves } from "@sluice/client/terminal";

/**
 * Milliseconds in which repeated signals count as one Ctrl-C: it arrives from the terminal, and again from npx and
 * pnpm.
 */
const SAME_KEY_PRESS_MS = 1_000;

const READER_LEFT = new Error("the reader of the output is gone");

/**
 * A signal that aborts at the first SIGINT, SIGTERM or SIGHUP, or when the reader of the output is gone (`| head`). At
 * a second SIGINT, SIGTERM or SIGHUP, a second or more later, the process exits at once; its children notice that and
 * exit.
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

/** Whether the signal aborted because nobody reads the output: then the command exits quietly with 0. */
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

/** Waits, at most until the signal aborts. */
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

/** A function call, because the compiler assumes that a property once false stays false. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** The promise's value, or `null` if the signal aborts first. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return Promise.race([
    promise,
    new Promise<null>((resolve) => {
      if (signal.aborted) resolve(null);
      else signal.addEventListener("abort", () => resolve(null), { once: true });
    }),
  ]);
}
