import { describeStandIn, print, shellCommand } from "@sluice/client/terminal";
import { commandKey, commandSettings, parseArguments, PNPM, refuse, sqlLine } from "./command.ts";
import { describeLeftovers } from "./demo/leftovers.ts";
import { describeStop } from "./demo/stopped.ts";
import { ownWorker } from "./own-worker.ts";
import { reportRunFailures } from "./run-failures.ts";
import { startStack, type Stack } from "./runtime.ts";
import { describeEnvironment, type Settings } from "./settings.ts";
import { aborted, hasReaderLeft, pause, stopSignal } from "./signals.ts";

const TICK_SECONDS = 60;

const HELP = `Runs the whole Sluice stack on this machine until Ctrl-C: ${PNPM} dev

${describeEnvironment(TICK_SECONDS)}`;

const EXAMPLE = { id: "q001", query: "capital of France", contexts: ["Paris", "Bananas are yellow"] };
const EXAMPLE_SQL =
  "SELECT context_id, score, rank FROM scores WHERE collection = 'default' AND document_id = 'q001' ORDER BY rank";

async function main(): Promise<void> {
  const stop = stopSignal();
  const args = parseArguments({ help: { type: "boolean", short: "h" } }, false);
  if (!args.ok) return refuse(args.error, 2);
  if (args.value.values.help === true) return print(HELP);
  const settings = commandSettings(TICK_SECONDS);
  if (!settings.ok) return refuse(settings.error, 2);

  const made = commandKey(settings.value);
  if (!made.ok) return refuse(made.error, 1);
  const key = made.value;
  print("Starting Sluice …");
  const stack = await startStack(settings.value, key, stop);
  if (!stack.ok) {
    if (hasReaderLeft(stop)) return;
    return stop.aborted ? print("\nStopped while starting. Nothing was pushed.") : refuse(stack.error, 1);
  }

  print(describeStack(stack.value, settings.value, key));
  for (const line of describeLeftovers(stack.value.leftovers)) print(line);
  print(describeUse(stack.value, settings.value, key));
  reportRunFailures(stack.value);
  const end = await Promise.race([aborted(stop).then(() => null), stack.value.failed]);
  // Ctrl-C may end a child before it reaches this process.
  if (end !== null) await pause(500, stop);
  if (stop.aborted) print("\nStopping …");
  await stack.value.stop();
  if (stop.aborted) print(await describeStop(settings.value.state));
  else if (end !== null) refuse(end, 1);
}

function describeStack(stack: Stack, settings: Settings, key: string): string {
  return `
Sluice runs on ${stack.url}   Ctrl-C stops it
  key   ${key}
  state ${settings.state}
  log   ${stack.log}
  ${describeStandIn(settings.localAi) ?? ""}`;
}

/** When the scores of a push are available, if the model answers at once. */
function whenScored({ events, tickSeconds }: Settings): string {
  return events ? "a few seconds later" : `after the next run of the poller (every ${tickSeconds} s)`;
}

function describeUse({ url }: Stack, settings: Settings, key: string): string {
  const headers = [`Authorization: Bearer ${key}`, "Content-Type: application/json"];
  const push = ["curl", "-s", ...headers.flatMap((header) => ["-H", header]), "-d", JSON.stringify(EXAMPLE)];
  const own = ownWorker(settings);
  return `
Push a document:
  ${shellCommand(push, [`${url}/v1/documents`])}
Read its scores, ${whenScored(settings)}:
  ${sqlLine(settings, EXAMPLE_SQL)}
To bind it from your own Worker, add to its wrangler.jsonc
  ${own.bindings.join("\n  ")}
and run in its folder
  ${own.run}
`;
}

await main();
