import { sluice, tickUntil } from "../arms/index.ts";
import { makeDocuments, toBodies } from "../documents.ts";
import type { Stack } from "../runtime/stack.ts";
import { pollAsEachMinute } from "./operations.ts";

/** The cost of scoring the good documents among bad ones. */
export interface Poison {
  readonly strategy: "bisection" | "one by one" | "whole again";
  readonly documents: number;
  readonly bad: number;
  /** Calls that submit a batch. */
  readonly calls: number;
  /** The limit of these calls: 2·k·log2 N + 2. Bisection only. */
  readonly bound: number | null;
  /** Poller runs, a minute each, until every good document is done; `null`: never. */
  readonly minutes: number | null;
  readonly good: number;
}

const DOCUMENTS = 1_000;
const MAX_RUNS = 60;
/** Calls of one poller run, the same for all designs: a dispatch takes about nine of the 1,000 statements. */
export const CALLS_PER_RUN = 100;
const BAD_TEXT = "POISON";

/**
 * Pushes 1,000 documents of which k make Workers AI refuse any batch that contains them. Bisection is measured with the
 * real Sluice. The others are computed from their design: after the refusal, a call for each document, or the same
 * batch again and again.
 */
export async function measurePoison(stack: Stack, bad: readonly number[]): Promise<Poison[]> {
  const measured: Poison[] = [];
  for (const k of bad) {
    measured.push(await bisect(stack, k));
    measured.push({
      strategy: "one by one",
      documents: DOCUMENTS,
      bad: k,
      calls: 1 + DOCUMENTS,
      bound: null,
      // The run that receives the refusal, the runs that submit, and one that fetches the last answers.
      minutes: 1 + Math.ceil((2 * DOCUMENTS) / CALLS_PER_RUN),
      good: DOCUMENTS - k,
    });
    measured.push({
      strategy: "whole again",
      documents: DOCUMENTS,
      bad: k,
      calls: 10,
      bound: null,
      minutes: null,
      good: 0,
    });
  }
  return measured;
}

async function bisect(stack: Stack, k: number): Promise<Poison> {
  await stack.clear("sluice");
  await stack.plan({ submit: [{ fault: "5006", match: BAD_TEXT }] });
  const documents = makeDocuments({ name: "poison", bytes: 400, contexts: 2 }, DOCUMENTS, 15).map((document, index) =>
    isBad(index, k) ? { ...document, query: `${BAD_TEXT} ${document.query}` } : document,
  );
  await sluice.push(stack, toBodies(documents, 45_000_000));
  // Wait until the consumer has received the refusal.
  await tickUntil(async () => (await stack.sql("SELECT id FROM jobs WHERE status = 'split'")).results.length > 0);
  const good = DOCUMENTS - k;
  for (let minutes = 1; minutes <= MAX_RUNS; minutes += 1) {
    await pollAsEachMinute(stack);
    const ended = await stack.sql<{ succeeded: number; failed: number }>("SELECT succeeded, failed FROM submissions");
    const { succeeded = 0, failed = 0 } = ended.results[0] ?? {};
    if (succeeded + failed < DOCUMENTS) continue;
    const { submit } = await stack.aiCalls();
    const bound = 2 * k * Math.log2(DOCUMENTS) + 2;
    if (succeeded !== good) throw new Error(`only ${succeeded} of ${good} good documents have scores`);
    return { strategy: "bisection", documents: DOCUMENTS, bad: k, calls: submit.calls, bound, minutes, good };
  }
  throw new Error(`${k} bad documents keep ${DOCUMENTS} from ending within ${MAX_RUNS} runs of the poller`);
}

/** Bad documents spread evenly: the farther apart they are, the more batches they affect. */
function isBad(index: number, k: number): boolean {
  return Math.floor(((index + 1) * k) / DOCUMENTS) !== Math.floor((index * k) / DOCUMENTS);
}
