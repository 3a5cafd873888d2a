import { fork, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import type { ChildAnswer, ChildOrder, Program } from "./protocol.ts";

interface SeedsOptions<Result> {
  readonly from: number;
  readonly count: number;
  /** Seeds that run before those. */
  readonly first?: readonly number[];
  /** Processes at once. */
  readonly processes: number;
  readonly program: Program;
  /** Hears of every seed; `false` ends the run. */
  readonly onResult: (result: Result) => boolean;
}

const CHILD = join(import.meta.dirname, "child.ts");
/** Real time after which a seed is taken to hang: one takes some tens of milliseconds. */
const HANGS_AFTER_MS = 60_000;

/** Runs seeds in processes of their own. Rejects where one cannot start, dies or hangs, and says at which seed. */
export async function runSeeds<Result>(options: SeedsOptions<Result>): Promise<void> {
  const first = [...(options.first ?? [])];
  let next = options.from;
  let goesOn = true;
  const take = (): number | null => {
    if (!goesOn) return null;
    const before = first.shift();
    if (before !== undefined) return before;
    if (next >= options.from + options.count) return null;
    next += 1;
    return next - 1;
  };
  const hear = (result: unknown) => {
    // What a program gives for a seed is its own; its process says which program it runs.
    goesOn = options.onResult(result as Result) && goesOn;
  };
  const processes = Math.max(1, Math.min(options.processes, options.count));
  await Promise.all(Array.from({ length: processes }, () => runChild(options.program, take, hear)));
}

const running = new Set<ChildProcess>();
// However this process ends, none of them stays.
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

function runChild(program: Program, take: () => number | null, hear: (result: unknown) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [JSON.stringify(program)], {
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    running.add(child);
    let seed: number | null = null;
    let errors = "";
    let isDone = false;
    let watchdog = setTimeout(() => undefined, 0);
    const end = (failure: Error | null) => {
      if (isDone) return;
      isDone = true;
      clearTimeout(watchdog);
      child.kill("SIGKILL");
      running.delete(child);
      if (failure === null) resolve();
      else reject(failure);
    };
    const order = () => {
      clearTimeout(watchdog);
      seed = take();
      if (seed === null) return end(null);
      watchdog = setTimeout(() => end(new Error(`seed ${seed} hangs`)), HANGS_AFTER_MS);
      child.send({ seed } satisfies ChildOrder);
    };
    child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    child.on("error", end);
    child.on("exit", (code) => end(new Error(`the process of seed ${seed ?? "none"} ended with ${code}:\n${errors}`)));
    child.on("message", (answer: ChildAnswer) => {
      if (answer.kind === "ran") hear(answer.result);
      order();
    });
  });
}
