import type { Job, Sluice, Submission } from "@sluice/client/library";
import { bytes, count, dollars, pad, plural } from "@sluice/client/terminal";
import {
  COST_ASSUMPTION,
  DELIVERY_MESSAGES,
  estimateCost,
  MAX_PART_BYTES,
  OPERATIONS_PER_MESSAGE,
  PRICES,
  queueOperations,
  ROWS_PER_STAGED_PART,
  scaleTotals,
  type PushTotals,
} from "@sluice/core";
import { sum } from "./figures.ts";
import { ended } from "./follow.ts";
import { readParts, type PartMeasured } from "./parts.ts";
import { readJobsWithParents } from "./read-back.ts";

/** D1 rows of a dispatch: one at its start, one at its end. */
const ROWS_PER_DISPATCH = 2;
const MILLION = 1_000_000;

/** Printed once, below the figures. */
export const COST_NOTE = "D1 also bills index entries and every update of a job or submission as rows written.";

/** A push whose documents have ended. */
export interface PushMeasured {
  readonly ended: number;
  readonly tokens: number;
  /** Whether the runtime was killed during the push. Lost and repeated messages are not counted in that case. */
  readonly killed: boolean;
}

export interface JobMeasured {
  readonly dispatches: number;
  /** Repeated dispatches that may have been paid for without a result. */
  readonly again: number;
  readonly tokens: number;
}

interface Item {
  readonly name: string;
  readonly amount: string;
  readonly dollars: number;
}

interface CostOptions {
  readonly jobIds: ReadonlySet<string>;
  /** The bytes of each document in its message, by id. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly killed: boolean;
  readonly signal: AbortSignal;
}

/** Describes the Cloudflare cost of a submission that has ended. `url` is the stack's. */
export async function showCost(
  client: Pick<Sluice, "job">,
  url: string,
  end: Submission,
  { jobIds, sizes, killed, signal }: CostOptions,
): Promise<string> {
  const parts = await readParts(url, end, sizes);
  const jobs = await readJobsWithParents(client, jobIds, signal);
  const push = { ended: ended(end), tokens: end.usage.tokens, killed };
  const items = costItems(push, parts, jobs.map(measureJob));
  return [
    "On Cloudflare, at list price and without free tiers, this push would cost:",
    ...items.map(
      ({ name, amount, dollars: price }) => `  ${pad(name, 8, "left")} ${pad(dollars(price), 13, "left")} ${amount}`,
    ),
    `  ${pad("total", 8, "left")} ${dollars(sum(items, (item) => item.dollars))}`,
  ].join("\n");
}

function measureJob({ attempts, usage }: Job): JobMeasured {
  return {
    dispatches: attempts.at(-1)?.attempt ?? 0,
    again: usage.unconfirmed_dispatches + usage.repeated_dispatches,
    tokens: usage.tokens ?? 0,
  };
}

/**
 * Describes the cost of a million documents like these, with the estimate of `sluice push --estimate`. It excludes
 * one-time costs of a push, and crashes.
 */
export function describeMillion(totals: PushTotals): string {
  if (totals.documents === 0) return "";
  const { usd } = estimateCost(scaleTotals(totals, MILLION));
  const size = bytes(Math.round(totals.payloadBytes / totals.documents));
  const [largest] = [
    { name: "bge-m3", dollars: usd.workersAi },
    { name: "D1", dollars: usd.d1 },
    { name: "Queues", dollars: usd.queues },
    { name: "Workers", dollars: usd.workers },
  ].toSorted((a, b) => b.dollars - a.dollars);
  const share =
    largest === undefined ? "" : `, ${Math.round((100 * largest.dollars) / usd.total)} % of it ${largest.name}`;
  return (
    `On Cloudflare, a million documents like these (${size} each): about ${dollars(usd.total)}${share}. ` +
    `Assumed, as in sluice push --estimate: ${COST_ASSUMPTION}.`
  );
}

export function costItems(push: PushMeasured, parts: readonly PartMeasured[], jobs: readonly JobMeasured[]): Item[] {
  const documents = sum(parts, (part) => part.documents);
  const staged = parts.filter(isStaged).length;
  const textRows = new Set(parts.map((part) => part.textRow)).size;
  // The message of a staged part contains only its name.
  const units = sum(parts, (part) => (isStaged(part) ? 1 : queueOperations(part.bytes)));
  const operations = units * OPERATIONS_PER_MESSAGE;
  const dispatches = sum(jobs, (job) => job.dispatches);
  const again = sum(jobs, (job) => job.again);
  // A job may have documents of other submissions, so the tokens paid for again are shared in proportion.
  const used = sum(jobs, (job) => job.tokens);
  const wasted = used === 0 ? 0 : Math.round((push.tokens * sum(jobs, (job) => job.again * job.tokens)) / used);
  const rows =
    documents +
    push.ended +
    parts.length +
    textRows +
    staged * ROWS_PER_STAGED_PART +
    jobs.length +
    dispatches * ROWS_PER_DISPATCH +
    1;
  const requests = 1 + Math.ceil(parts.length / DELIVERY_MESSAGES);
  return [
    {
      name: "Queues",
      amount: `${push.killed ? "at least " : ""}${plural(operations, "operation")}: ${describeMessages(parts.length, units)}`,
      dollars: operations * PRICES.queueOperation,
    },
    {
      name: "D1",
      amount:
        `at least ${plural(rows, "row")} written: ${plural(documents, "document")}, ${plural(push.ended, "outcome")}, ` +
        `${plural(parts.length, "part")}${staged === 0 ? "" : ` (${count(staged)} staged)`}, ` +
        `${plural(textRows, "row")} of texts, ${plural(jobs.length, "job")}, ` +
        `${plural(dispatches, "dispatch", "dispatches")}, the submission`,
      dollars: rows * PRICES.rowWritten,
    },
    {
      name: "Workers",
      amount: `at least ${plural(requests, "request")}: the push and its ${requests === 2 ? "delivery" : "deliveries"}`,
      dollars: requests * PRICES.workerRequest,
    },
    {
      name: "bge-m3",
      amount:
        `${plural(push.tokens, "input token")}, as the local stand-in estimates them` +
        (again === 0
          ? ""
          : `; up to ${count(wasted)} more for ${plural(again, "repeated dispatch", "repeated dispatches")}`),
      dollars: (push.tokens + wasted) * PRICES.bgeM3Token,
    },
  ];
}

/** Queues bill each started 64 KB of a message when it is written, read and deleted. */
function describeMessages(messages: number, units: number): string {
  const size = units === messages ? "" : ` in ${plural(units, "unit")} of 64 KB`;
  return `${plural(messages, "message")}${size}, written, read and deleted`;
}

function isStaged({ bytes }: PartMeasured): boolean {
  return bytes > MAX_PART_BYTES;
}
