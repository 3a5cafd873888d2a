import { join, relative, resolve } from "node:path";
import {
  callerFolder,
  commandKey,
  commandSettings,
  parseArguments,
  PNPM,
  refuse,
  shellWord,
  sqlLine,
} from "./command.ts";
import { ROOT } from "./configuration.ts";
import { seconds, stage } from "./demo/figures.ts";
import { readFile, type File } from "./demo/read-file.ts";
import { runDemo } from "./demo/run-demo.ts";
import { startStack } from "./runtime.ts";
import { describeEnvironment, type Settings } from "./settings.ts";
import { aborted, pause, stopSignal } from "./signals.ts";

const TICK_SECONDS = 1;
const SAMPLE = join(ROOT, "packages/local/sample/everyday.ndjson");
/** What a shell says of a command that Ctrl-C ended. */
const STOPPED = 130;

const HELP = `The main job, from a file of documents to scores in D1: ${PNPM} demo [--kill] [FILE.ndjson]

  FILE.ndjson  a document a line: {"id"?, "query", "contexts": [text | {"id"?, "text"}]}
               (default: ${relative(ROOT, SAMPLE)})
  --kill       kill the runtime half way, start it again on the same state, and finish

${describeEnvironment(TICK_SECONDS)}`;

async function main(): Promise<void> {
  const args = parseArguments({ help: { type: "boolean", short: "h" }, kill: { type: "boolean" } }, true);
  if (!args.ok) return refuse(args.error, 2);
  const { values, positionals } = args.value;
  if (values.help === true) return console.log(HELP);
  if (positionals.length > 1) return refuse(`demo takes one file: it was given ${positionals.length}`, 2);
  const settings = commandSettings(TICK_SECONDS);
  if (!settings.ok) return refuse(settings.error, 2);
  const [given] = positionals;
  const path = given === undefined ? SAMPLE : resolve(callerFolder(), given);
  const file = readFile(path, given ?? relative(ROOT, SAMPLE));
  if (!file.ok) return refuse(file.error, 1);
  await demo(settings.value, file.value, values.kill === true);
}

async function demo(settings: Settings, file: File, kill: boolean): Promise<void> {
  const stop = stopSignal();
  const begun = performance.now();
  const key = commandKey(settings);
  console.log(stage("starting", `the Workers, D1 and the Queues on this machine; scores by ${settings.localAi}`));
  const stack = await startStack(settings, key, stop);
  if (!stack.ok) return stop.aborted ? void (process.exitCode = STOPPED) : refuse(stack.error, 1);
  console.log(stage("started", `${stack.value.url} in ${seconds(performance.now() - begun)}`));

  const ending = new AbortController();
  const around = { stack: stack.value, key, signal: AbortSignal.any([stop, ending.signal]), output: process.stdout };
  const running = runDemo(around, file, kill).catch((error: unknown) => [
    `The demo broke off: ${error instanceof Error ? error.message : String(error)}. See ${stack.value.log}`,
  ]);
  const end = await Promise.race([
    running,
    stack.value.failed.then((reason) => [reason]),
    aborted(stop).then(() => ["Stopped."]),
  ]);
  // A Ctrl-C may reach a child, and end it, before it reaches this process.
  if (end.length > 0) await pause(500, stop);
  ending.abort();
  await stack.value.stop();
  await running;
  if (stop.aborted) {
    process.exitCode = STOPPED;
    return console.log("\nStopped. What D1 has recorded is finished by the next dev or demo.");
  }
  if (end.length > 0) return refuse(`\n${end.join("\n")}`, 1);
  console.log(`\n${whatNext(settings)}`);
}

function whatNext(settings: Settings): string {
  return `Everything succeeded. What to try next:
  your own documents    ${PNPM} demo FILE.ndjson
  a crash on the way    ${PNPM} demo --kill
  SQL on the scores     ${sqlLine(settings, "SELECT document_id, context_id, score FROM best ORDER BY score DESC LIMIT 5")}
  keep it running       ${settings.state === join(ROOT, ".sluice") ? "" : `SLUICE_STATE=${shellWord(settings.state)} `}${PNPM} dev    (prints a curl line to push with)`;
}

await main();
