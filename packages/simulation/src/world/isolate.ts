import { AsyncLocalStorage } from "node:async_hooks";
import type { Random } from "../random.ts";
import type { Invocation } from "./invocation.ts";

/** The implementation of a Worker's globals while an invocation runs. */
interface Isolate {
  readonly by: Invocation;
  readonly random: Random;
  /** Called with each logged line. */
  readonly log: (line: string) => void;
}

const isolates = new AsyncLocalStorage<Isolate>();

/** Runs an entry file's handler with the simulation's clock, timers, random numbers and console. */
export function runIsolated<T>(isolate: Isolate, run: () => Promise<T>): Promise<T> {
  return isolates.run(isolate, run);
}

/** A timer of a Worker. It counts as a wait until it ends or is cleared. */
class VirtualTimer {
  readonly #by: Invocation;
  #isOver = false;

  constructor(by: Invocation, milliseconds: number, run: () => void) {
    this.#by = by;
    by.beginWait();
    by.later(milliseconds, () => {
      if (this.clear()) run();
    });
  }

  /** Returns whether it was still pending. */
  clear(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#by.endWait();
    return true;
  }
}

/** Replaces a member of a global object by `inside` in code that a Worker runs, and keeps it unchanged elsewhere. */
function replace<Owner extends object>(
  owner: Owner,
  name: keyof Owner & string,
  inside: (isolate: Isolate, ...values: never[]) => unknown,
): void {
  const outside = (owner[name] as (...values: unknown[]) => unknown).bind(owner);
  const member = (...values: never[]) => {
    const isolate = isolates.getStore();
    return isolate === undefined ? outside(...values) : inside(isolate, ...values);
  };
  Object.defineProperty(owner, name, { value: member, writable: true, configurable: true });
}

replace(Date, "now", ({ by }) => by.now());
replace(Math, "random", ({ random }) => random.next());
replace(crypto, "getRandomValues", ({ random }, array: Uint8Array) => {
  array.set(random.bytes(array.length));
  return array;
});
replace(
  globalThis,
  "setTimeout",
  ({ by }, run: () => void, milliseconds: number) => new VirtualTimer(by, milliseconds, run),
);
replace(globalThis, "clearTimeout", (_, timer: unknown) => {
  if (timer instanceof VirtualTimer) timer.clear();
});
for (const name of ["log", "error"] as const) replace(console, name, ({ log }, line: string) => log(line));
