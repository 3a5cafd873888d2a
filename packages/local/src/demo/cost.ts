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

/** The start of a dispatch, and its end. */
const ROWS_PER_DISPATCH = 2;
const MILLION = 1_000_000;

/** Printed once, below the figures. */
export const COST_NOTE = "D1 counts more rows than it keeps: index entries, and each update of a job or a submission.";

/** What is known of a push that ended. */
export interface PushMeasured {
  readonly ended: number;
  readonly tokens: number;
  /** Whether the runtime was killed meanwhile: messages that were lost or came again are not counted then. */
  readonly killed: boolean;
}

export interface JobMeasured {
  readonly dispatches: number;
  /** Dispatches whose inference may have been paid for without being used. */
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
  /** The bytes that each document has in its message, by id. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly killed: boolean;
  readonly signal: AbortSignal;
}

/** Describes what a submission that has ended would cost on Cloudflare. `url`: of the stack. */
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
 * What a million documents like these would cost, by the estimate of `sluice push --estimate`: it leaves out
 * what a push costs once, and crashes.
 */
export function describeMillion(totals: PushTotals): string {
  if (totals.documents === 0) return "";
  const { usd } = estimateCost(scaleTotals(totals, MILLION));
  const size = bytes(Math.round(totals.payloadBytes / totals.documents));
  const [most] = [
    { name: "bge-m3", dollars: usd.workersAi },
    { name: "D1", dollars: usd.d1 },
    { name: "Queues", dollars: usd.queues },
    { name: "Workers", dollars: usd.workers },
  ].toSorted((a, b) => b.dollars - a.dollars);
  const share = most === undefined ? "" : `, ${Math.round((100 * most.dollars) / usd.total)} % of it ${most.name}`;
  return (
    `On Cloudflare, a million documents like these (${size} each): about ${dollars(usd.total)}${share}. ` +
    `Assumed, as in sluice push --estimate: ${COST_ASSUMPTION}.`
  );
}

export function costItems(push: PushMeasured, parts: readonly PartMeasured[], jobs: readonly JobMeasured[]): Item[] {
  const documents = sum(parts, (part) => part.documents);
  const staged = parts.filter(isStaged).length;
  const textRows = new Set(parts.map((part) => part.textRow)).size;
  // The message of a staged part only names it.
  const units = sum(parts, (part) => (isStaged(part) ? 1 : queueOperations(part.bytes)));
  const operations = units * OPERATIONS_PER_MESSAGE;
  const dispatches = sum(jobs, (job) => job.dispatches);
  const again = sum(jobs, (job) => job.again);
  // A job may have documents of other submissions: what was paid again is shared in proportion to its tokens.
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

/** Each 64 KB of a message, or part of it, is billed when it is written, read and deleted. */
function describeMessages(messages: number, units: number): string {
  const size = units === messages ? "" : ` in ${plural(units, "unit")} of 64 KB`;
  return `${plural(messages, "message")}${size}, written, read and deleted`;
}

function isStaged({ bytes }: PartMeasured): boolean {
  return bytes > MAX_PART_BYTES;
}
