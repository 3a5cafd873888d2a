import { AsyncLocalStorage } from "node:async_hooks";
import type { Random } from "../random.ts";
import type { Invocation } from "./invocation.ts";

/** What the globals of a Worker lead to while an invocation runs. */
interface Isolate {
  readonly by: Invocation;
  readonly random: Random;
  /** Hears each line that is logged. */
  readonly log: (line: string) => void;
}

const isolates = new AsyncLocalStorage<Isolate>();

/** Runs an entry file's handler. The clock, timers, random numbers and the console are those of the simulation in it. */
export function runIsolated<T>(isolate: Isolate, run: () => Promise<T>): Promise<T> {
  return isolates.run(isolate, run);
}

/** A timer of a Worker. It holds the Worker's clock as a wait until it ends or is cleared. */
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

  /** Gives whether it was still to end. */
  clear(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#by.endWait();
    return true;
  }
}

/** Replaces a member of a global object by `inside`, where a Worker runs, and leaves it as it is elsewhere. */
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
