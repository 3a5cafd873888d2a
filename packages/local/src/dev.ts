import { shellCommand } from "@sluice/core/shell";
import { commandKey, commandSettings, parseArguments, PNPM, refuse, sqlLine } from "./command.ts";
import { describeLeftovers, findLeftovers } from "./demo/leftovers.ts";
import { tellRunFailures } from "./run-failures.ts";
import { startStack, type Stack } from "./runtime.ts";
import { describeEnvironment, type Settings } from "./settings.ts";
import { aborted, pause, stopSignal } from "./signals.ts";

const TICK_SECONDS = 60;

const HELP = `Runs the whole of Sluice on this machine until Ctrl-C: ${PNPM} dev

${describeEnvironment(TICK_SECONDS)}`;

const EXAMPLE = { id: "q001", query: "capital of France", contexts: ["Paris", "Bananas are yellow"] };
const EXAMPLE_SQL =
  "SELECT context_id, score, rank FROM scores WHERE collection = 'default' AND document_id = 'q001' ORDER BY rank";

async function main(): Promise<void> {
  const args = parseArguments({ help: { type: "boolean", short: "h" } }, false);
  if (!args.ok) return refuse(args.error, 2);
  if (args.value.values.help === true) return console.log(HELP);
  const settings = commandSettings(TICK_SECONDS);
  if (!settings.ok) return refuse(settings.error, 2);

  const stop = stopSignal();
  const made = commandKey(settings.value);
  if (!made.ok) return refuse(made.error, 1);
  const key = made.value;
  console.log("Starting Sluice …");
  const stack = await startStack(settings.value, key, stop);
  if (!stack.ok) return stop.aborted ? console.log("\nStopped while starting.") : refuse(stack.error, 1);

  await tellLeftovers(stack.value, key, stop);
  console.log(welcome(stack.value, settings.value, key));
  tellRunFailures(stack.value);
  const end = await Promise.race([aborted(stop).then(() => null), stack.value.failed]);
  // A Ctrl-C may reach a child, and end it, before it reaches this process.
  if (end !== null) await pause(500, stop);
  await stack.value.stop();
  if (end !== null && !stop.aborted) refuse(end, 1);
}

function welcome(stack: Stack, settings: Settings, key: string): string {
  const headers = [`Authorization: Bearer ${key}`, "Content-Type: application/json"];
  const push = ["curl", "-s", ...headers.flatMap((header) => ["-H", header]), "-d", JSON.stringify(EXAMPLE)];
  return `
Sluice runs on ${stack.url}   Ctrl-C ends it
  key   ${key}
  state ${settings.state}
  log   ${stack.log}

Push a document:
  ${shellCommand(push, [`${stack.url}/v1/documents`])}
Read its scores, after the next run of the poller (every ${settings.tickSeconds} s):
  ${sqlLine(settings, EXAMPLE_SQL)}
`;
}

/** What an earlier run left open in this state. */
async function tellLeftovers({ url, log }: Stack, key: string, stop: AbortSignal): Promise<void> {
  try {
    for (const line of describeLeftovers(await findLeftovers({ url, key }))) console.log(line);
  } catch (error) {
    // To run is what is wanted: this is no reason not to.
    if (!stop.aborted) console.error(`What is left over could not be read (${String(error)}). See ${log}`);
  }
}

await main();
