import { join, relative, resolve } from "node:path";
import { duration, print } from "@sluice/client/terminal";
import {
  callerFolder,
  commandKey,
  commandLine,
  commandSettings,
  parseArguments,
  PNPM,
  refuse,
  sqlLine,
} from "./command.ts";
import { ROOT } from "./configuration.ts";
import { connect } from "./demo/connect.ts";
import { recordQueue } from "./demo/drain.ts";
import { stage } from "./demo/figures.ts";
import { readFile, type File } from "./demo/read-file.ts";
import { runDemo, type DemoEnd } from "./demo/run-demo.ts";
import { describeStop } from "./demo/stopped.ts";
import { reportRunFailures } from "./run-failures.ts";
import { startStack } from "./runtime.ts";
import { describeEnvironment, type Settings } from "./settings.ts";
import { aborted, hasReaderLeft, pause, stopSignal } from "./signals.ts";

const TICK_SECONDS = 1;
const SAMPLE = join(ROOT, "packages/local/sample/everyday.ndjson");
/** The exit code that shells report for a command ended by Ctrl-C. */
const STOPPED_EXIT_CODE = 130;
/** Clears a progress bar from the line. */
const CLEAR_LINE = "\r\u001B[2K";
/** Milliseconds the stack keeps running after its output is closed, so that D1 records the messages in the Queue. */
const DRAIN_MS = 10_000;
/** Milliseconds to wait for a second sign of a run's end, which may explain the first. */
const SETTLE_MS = 500;

const HELP = `Pushes a file of documents, waits for their scores and prints them: ${PNPM} demo [--kill] [FILE.ndjson]

  FILE.ndjson  one document per line: {"id"?, "query", "contexts": [text | {"id"?, "text"}]}
               (default: ${relative(ROOT, SAMPLE)})
  --kill       kill the runtime halfway, restart it on the same state, and finish

${describeEnvironment(TICK_SECONDS)}`;

async function main(): Promise<void> {
  const stop = stopSignal();
  const args = parseArguments({ help: { type: "boolean", short: "h" }, kill: { type: "boolean" } }, true);
  if (!args.ok) return refuse(args.error, 2);
  const { values, positionals } = args.value;
  if (values.help === true) return print(HELP);
  if (positionals.length > 1) return refuse(`demo accepts one file, but got ${positionals.length}`, 2);
  const settings = commandSettings(TICK_SECONDS);
  if (!settings.ok) return refuse(settings.error, 2);
  const [given] = positionals;
  const path = given === undefined ? SAMPLE : resolve(callerFolder(), given);
  const file = await readFile(path, given ?? relative(ROOT, SAMPLE));
  if (!file.ok) return refuse(file.error, 1);
  await demo(settings.value, file.value, values.kill === true, stop);
}

async function demo(settings: Settings, file: File, kill: boolean, stop: AbortSignal): Promise<void> {
  const begun = performance.now();
  const key = commandKey(settings);
  if (!key.ok) return refuse(key.error, 1);
  print(stage("starting", `the Workers, D1 and the Queues on this machine; scores by ${settings.localAi}`));
  const stack = await startStack(settings, key.value, stop);
  if (stop.aborted && !stack.ok) {
    if (hasReaderLeft(stop)) return;
    process.exitCode = STOPPED_EXIT_CODE;
    return print("\nStopped while starting. Nothing was pushed.");
  }
  if (!stack.ok) return refuse(stack.error, 1);
  print(stage("started", `${stack.value.url} in ${duration(performance.now() - begun)}`));

  reportRunFailures(stack.value, process.stderr.isTTY ? CLEAR_LINE : "");

  const ending = new AbortController();
  const around = {
    stack: stack.value,
    key: key.value,
    signal: AbortSignal.any([stop, ending.signal]),
    output: process.stdout,
  };
  const brokenOff = (reason: string): DemoEnd => ({ complete: false, shortcomings: [reason], lostBefore: false });
  const running = runDemo(around, file, kill).catch((error: unknown) =>
    brokenOff(`The demo failed: ${error instanceof Error ? error.message : String(error)}. See ${stack.value.log}`),
  );
  const failed = stack.value.failed.then(brokenOff);
  let end = await Promise.race([running, failed, aborted(stop).then(() => brokenOff("Stopped."))]);
  if (!end.complete) {
    // Ctrl-C may end a child before it reaches this process. If the runtime died, that explains a failed request.
    end = await Promise.race([failed, pause(SETTLE_MS, stop).then(() => end)]);
    await pause(SETTLE_MS, stop);
  }
  // No prompt is waiting, so there is time to record the messages in the local Queue, which is in memory.
  if (hasReaderLeft(stop)) await recordQueue(connect(around), DRAIN_MS);
  ending.abort();
  await stack.value.stop();
  await running;
  if (hasReaderLeft(stop)) return;
  if (stop.aborted) {
    process.exitCode = STOPPED_EXIT_CODE;
    return print(`\n${await describeStop(settings.state)}`);
  }
  if (end.shortcomings.length > 0) refuse(`\n${end.shortcomings.join("\n")}`, 1);
  if (end.complete) print(`\n${whatNext(settings, end)}`);
}

function whatNext(settings: Settings, { shortcomings, lostBefore }: DemoEnd): string {
  const failures = sqlLine(settings, "SELECT document_id, code, message FROM failures LIMIT 5");
  return `${verdict(shortcomings.length > 0, lostBefore)}What to try next:
  your own documents    ${commandLine(settings, ["demo"], ["FILE.ndjson"])}
  kill it halfway       ${commandLine(settings, ["demo", "--kill"])}
  SQL on the scores     ${sqlLine(settings, "SELECT document_id, context_id, score FROM best ORDER BY score DESC LIMIT 5")}${
    shortcomings.length === 0 ? "" : `\n  SQL on failures       ${failures}`
  }
  keep it running       ${commandLine(settings, ["dev"])}    (prints a curl line to push with)`;
}

function verdict(short: boolean, lostBefore: boolean): string {
  if (short) return "";
  if (lostBefore) return "Everything of this run succeeded. Documents of an earlier run are lost, as listed above. ";
  return "Everything succeeded. ";
}

await main();
