import { hasEnded, SluiceError, type Lane, type Sluice, type Stats, type Submission } from "@sluice/client/library";
import { checkScores } from "./check-scores.ts";
import { smokeDocuments } from "./documents.ts";
import { explainWait } from "./explain-wait.ts";

/** The part of the client that the test uses. */
export type SmokeClient = Pick<Sluice, "push" | "wait" | "documents" | "stats">;

export interface SmokeIo {
  readonly print: (text: string) => void;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly now: () => number;
}

const COLLECTION = "smoke";
/** Half of the documents takes each queue. */
const LANES: readonly Lane[] = ["interactive", "bulk"];
/** Two runs of the poller, one of which may not be recorded, and some delay. */
const TICK_TIMEOUT_MS = 180_000;
const TICK_INTERVAL_MS = 5_000;

/** Pushes a dozen documents and checks that all parts of a deployment do their work. Returns whether they do. */
export async function runSmoke(client: SmokeClient, timeoutMs: number, io: SmokeIo): Promise<boolean> {
  const check = new Checks(io.print);
  try {
    const before = await client.stats();
    check.passed("the API answers and accepts the key");
    const submissions = await Promise.all(LANES.map((lane) => pushAndWait(client, lane, timeoutMs, check)));
    if (submissions.every((one) => one !== null && hasEnded(one))) {
      await checkDocuments(client, before, check);
    }
    await checkPoller(client, before, check, io);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    check.failed(explainError(error));
  }
  if (check.failures === 0) {
    io.print(
      "\nEverything works. HTTP does not show the dead-letter queues: deploy:cloudflare checks their consumers.",
    );
  }
  return check.failures === 0;
}

/** Prints each check, and counts those that failed. */
class Checks {
  failures = 0;
  readonly #print: (text: string) => void;

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  passed(text: string): void {
    this.#print(`✓ ${text}`);
  }

  failed(text: string): void {
    this.failures += 1;
    this.#print(`✗ ${text}`);
  }
}

/** Pushes a lane's documents and waits for their end. Returns the submission as last read. */
async function pushAndWait(
  client: SmokeClient,
  lane: Lane,
  timeoutMs: number,
  check: Checks,
): Promise<Submission | null> {
  const documents = smokeDocuments.filter((_, index) => LANES[index % LANES.length] === lane);
  const pushed = await client.push(documents, { collection: COLLECTION, label: COLLECTION, lane });
  const [accepted] = pushed.submissions;
  if (accepted === undefined || pushed.accepted !== documents.length) {
    check.failed(`${pushed.accepted} of ${documents.length} documents were accepted in the lane ${lane}`);
    return null;
  }
  check.passed(`pushed ${documents.length} documents in the lane ${lane}: ${accepted.id}`);
  let last = accepted;
  let isRecorded = false;
  const onProgress = (submission: Submission) => {
    last = submission;
    if (isRecorded || submission.counts.queued > 0 || submission.status === "receiving") return;
    isRecorded = true;
    check.passed(`the consumer reads the queue of the lane ${lane}`);
  };
  try {
    return await client.wait(accepted.id, { timeout: timeoutMs, onProgress });
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== "timeout") throw error;
    check.failed(explainWait(last));
    return last;
  }
}

async function checkDocuments(client: SmokeClient, { scorer }: Stats, check: Checks): Promise<void> {
  const ids = smokeDocuments.map(({ id }) => id);
  const { data } = await client.documents(COLLECTION, ids);
  const found = new Map(data.map((document) => [document.id, document]));
  const problems = smokeDocuments.flatMap((pushed) => checkScores(pushed, found.get(pushed.id), scorer));
  for (const problem of problems) check.failed(problem);
  if (problems.length === 0)
    check.passed(`${ids.length} documents have the right scores in the right order (${scorer})`);
}

async function checkPoller(client: SmokeClient, before: Stats, check: Checks, io: SmokeIo): Promise<void> {
  const end = io.now() + TICK_TIMEOUT_MS;
  for (;;) {
    const { poller } = await client.stats();
    if (poller !== null && poller.last_run_at !== before.poller?.last_run_at) {
      return check.passed(`the poller ran at ${poller.last_run_at}`);
    }
    if (io.now() >= end) {
      const when = poller === null ? "has never run" : `last ran at ${poller.last_run_at}`;
      return check.failed(
        `the poller ${when}. After a first deployment cron may take 15 minutes to begin. Else look at the cron trigger ` +
          "of sluice-poller in the dashboard, and run deploy:cloudflare again.",
      );
    }
    await io.sleep(TICK_INTERVAL_MS);
  }
}

function explainError(error: SluiceError): string {
  switch (error.status) {
    case 401:
      return `The key is not accepted. Use the one that deploy:cloudflare printed, or set SLUICE_API_KEYS again.`;
    case 403:
    case 404:
      return `The key may not do this (${error.detail}). smoke needs ingest and read, for all collections.`;
    case null:
      return `The API does not answer: ${error.detail} A new workers.dev address may take a few minutes to work.`;
    default:
      return `The API answered ${error.status}: ${error.detail} GET /readyz names what is missing.`;
  }
}
