import { setTimeout as sleep } from "node:timers/promises";
import { print, whenReaderLeaves } from "@sluice/client/terminal";
import { Sluice } from "@sluice/client/library";
import { parseArguments, PNPM, refuse } from "@sluice/local/command";
import { runSmoke } from "./smoke/run-smoke.ts";

const MINUTE_MS = 60_000;
/** Workers AI says "usually within 5 minutes". */
const DEFAULT_MINUTES = 15;

const HELP = `Verifies a deployment: ${PNPM} smoke --url URL --key KEY [--minutes N]

  Pushes a dozen documents into the collection "smoke", waits for their scores,
  and checks scores, ranks, both queues and the poller. Exits with 1 and says
  what to look at if something does not work.
  --url URL     the API's URL
  --key KEY     a key with the scopes ingest and read  (default: SLUICE_API_KEY)
  --minutes N   how long to wait for the scores        (default ${DEFAULT_MINUTES})`;

async function main(): Promise<void> {
  whenReaderLeaves([process.stdout, process.stderr], () => process.exit(0));
  const parsed = parseArguments(
    {
      help: { type: "boolean", short: "h" },
      url: { type: "string" },
      key: { type: "string" },
      minutes: { type: "string" },
    },
    false,
  );
  if (!parsed.ok) return refuse(parsed.error, 2);
  const { values } = parsed.value;
  if (values.help === true) return print(HELP);
  const { url, key = process.env["SLUICE_API_KEY"] } = values;
  if (url === undefined || key === undefined) return refuse("smoke needs --url and --key (see --help)", 2);
  const minutes = Number(values.minutes ?? DEFAULT_MINUTES);
  if (!(minutes > 0 && minutes <= 24 * 60)) return refuse("--minutes must be a number from 0 to 1,440", 2);
  let client;
  try {
    client = new Sluice({ url, key });
  } catch (error) {
    if (error instanceof TypeError) return refuse(error.message, 2);
    throw error;
  }
  const io = { print, sleep: (ms: number) => sleep(ms), now: () => Date.now() };
  if (!(await runSmoke(client, minutes * MINUTE_MS, io))) process.exitCode = 1;
}

await main();
