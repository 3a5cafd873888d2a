import { fork, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import type { ChildAnswer, ChildOrder, Program } from "./protocol.ts";

interface SeedsOptions<Result> {
  readonly from: number;
  readonly count: number;
  /** Seeds to run first. */
  readonly first?: readonly number[];
  /** The number of concurrent processes. */
  readonly processes: number;
  readonly program: Program;
  /** Called with every result. Returning `false` ends the run. */
  readonly onResult: (result: Result) => boolean;
}

const CHILD = join(import.meta.dirname, "child.ts");
/** The real time after which a seed counts as hanging. A seed usually takes tens of milliseconds. */
const HANGS_AFTER_MS = 60_000;

/** Runs seeds in child processes. Rejects with the seed if a process cannot start, dies or hangs. */
export async function runSeeds<Result>(options: SeedsOptions<Result>): Promise<void> {
  const first = [...(options.first ?? [])];
  let next = options.from;
  let isRunning = true;
  const take = (): number | null => {
    if (!isRunning) return null;
    const before = first.shift();
    if (before !== undefined) return before;
    if (next >= options.from + options.count) return null;
    next += 1;
    return next - 1;
  };
  const report = (result: unknown) => {
    // The type of a result depends on the program, which the caller chose.
    isRunning = options.onResult(result as Result) && isRunning;
  };
  const processes = Math.max(1, Math.min(options.processes, options.count));
  await Promise.all(Array.from({ length: processes }, () => runChild(options.program, take, report)));
}

const running = new Set<ChildProcess>();
// No child process outlives this one.
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

function runChild(program: Program, take: () => number | null, report: (result: unknown) => void): Promise<void> {
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
    child.on("exit", (code) => end(new Error(`the process of seed ${seed ?? "none"} exited with ${code}:\n${errors}`)));
    child.on("message", (answer: ChildAnswer) => {
      if (answer.kind === "ran") report(answer.result);
      order();
    });
  });
}
