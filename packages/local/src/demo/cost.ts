import { pad } from "@sluice/client/terminal";
import {
  COST_ASSUMPTION,
  estimateCost,
  laneSchema,
  MAX_PART_BYTES,
  modelSchema,
  OPERATIONS_PER_MESSAGE,
  PRICES,
  queueOperations,
  scaleTotals,
  utf8Length,
  type PushTotals,
  type SubmissionId,
} from "@sluice/core";
import { partBody, type PartHeader } from "@sluice/pipeline/message/message.ts";
import * as z from "zod";
import { queryD1 } from "./d1.ts";
import { count, counted, dollars, sum } from "./figures.ts";

/** Messages that one delivery brings, at most. */
const DELIVERY_MESSAGES = 100;
/** One staged part is a row and the entry of its key written and, once it is recorded, a row deleted. */
const ROWS_A_STAGED_PART = 3;
/** A dispatch that is started, and its end. */
const ROWS_A_DISPATCH = 2;
const MILLION = 1_000_000;

/** Said once, below all pushes. */
export const COST_NOTE =
  "D1 counts more rows than it keeps: index entries, and the updates that jobs and submissions get on the way.";

const headerSchema = z.object({
  collection: z.string(),
  model: modelSchema,
  lane: laneSchema,
  truncate_inputs: z.number(),
});
const HEADER = "SELECT collection, model, lane, truncate_inputs FROM submissions WHERE id = ?1";

const partRowSchema = z.object({ part: z.number(), hash: z.string(), documents: z.string(), textRow: z.number() });
const idsSchema = z.array(z.string());
/** `textRow`: which row its texts are in, alone or with those of other parts. */
const PARTS = `SELECT p.part AS part, p.hash AS hash, p.documents AS documents, min(d.contexts_id) AS textRow
  FROM parts p CROSS JOIN json_each(p.documents) n
  CROSS JOIN documents d ON d.document_id = n.value AND d.submission_id = p.submission_id
    AND d.collection = (SELECT collection FROM submissions WHERE id = p.submission_id)
  WHERE p.submission_id = ?1 GROUP BY p.part`;

const jobSchema = z.object({ dispatches: z.number(), again: z.number(), tokens: z.number() });
/** With the jobs that follow one up: its halves, what was left of it, and the job that it was merged into. */
const JOBS = `WITH RECURSIVE family (id) AS (
    SELECT job_id FROM parts WHERE submission_id = ?1
    UNION SELECT j.id FROM family f CROSS JOIN jobs j ON j.parent_id = f.id
    UNION SELECT j.merged_into FROM family f CROSS JOIN jobs j ON j.id = f.id AND j.merged_into IS NOT NULL)
  SELECT attempt AS dispatches, unconfirmed_dispatches + repeated_dispatches AS again, coalesce(tokens, 0) AS tokens
  FROM family CROSS JOIN jobs USING (id)`;

/** What is known of a push that ended. */
export interface PushMeasured {
  readonly submission: SubmissionId;
  readonly ended: number;
  readonly tokens: number;
  /** Whether the runtime was killed meanwhile: messages that were lost or came again are not counted then. */
  readonly killed: boolean;
}

/** A part as its message carried it: `bytes` is the size of that body, or of what is staged in its place. */
export interface PartMeasured {
  readonly documents: number;
  readonly bytes: number;
  readonly textRow: number;
}

/** `again`: dispatches whose inference may have been paid without being used. */
type Job = z.output<typeof jobSchema>;

interface Item {
  readonly name: string;
  readonly amount: string;
  readonly dollars: number;
}

/** Describes what the push would cost on Cloudflare. `sizes`: the bytes that each document has in its message, by id. */
export async function showCost(url: string, push: PushMeasured, sizes: ReadonlyMap<string, number>): Promise<string> {
  const parts = await readParts(url, push.submission, sizes);
  const jobs = await queryD1(url, JOBS, [push.submission], jobSchema);
  const items = costItems(push, parts, jobs);
  return [
    "On Cloudflare, at list price with free tiers ignored, this push would cost:",
    ...items.map(
      ({ name, amount, dollars: price }) => `  ${pad(name, 8, "left")} ${pad(dollars(price), 13, "left")} ${amount}`,
    ),
    `  ${pad("total", 8, "left")} ${dollars(sum(items, (item) => item.dollars))}`,
  ].join("\n");
}

async function readParts(
  url: string,
  submission: SubmissionId,
  sizes: ReadonlyMap<string, number>,
): Promise<PartMeasured[]> {
  const [header] = await queryD1(url, HEADER, [submission], headerSchema);
  if (header === undefined) return [];
  const { collection, model, lane, truncate_inputs: truncate } = header;
  const rows = await queryD1(url, PARTS, [submission], partRowSchema);
  return rows.map(({ part, hash, documents, textRow }) => {
    const ids = idsSchema.parse(JSON.parse(documents));
    const header = { submission, collection, model, lane, truncateInputs: truncate === 1 };
    return { documents: ids.length, bytes: messageBytes(header, { part, hash, ids }, sizes), textRow };
  });
}

/** The size of a part's message, from the sizes of its documents. */
export function messageBytes(
  header: PartHeader,
  { part, hash, ids }: { readonly part: number; readonly hash: string; readonly ids: readonly string[] },
  sizes: ReadonlyMap<string, number>,
): number {
  const commas = ids.length - 1;
  return utf8Length(partBody(header, part, hash, "")) + sum(ids, (id) => sizes.get(id) ?? 0) + commas;
}

/**
 * Says what a million documents like these would cost, by the estimate that `sluice push --estimate` uses:
 * what a push costs once, and a crash on the way, are not multiplied.
 */
export function describeMillion(totals: PushTotals): string {
  if (totals.documents === 0) return "";
  const { usd } = estimateCost(scaleTotals(totals, MILLION));
  const bytes = totals.payloadBytes / totals.documents;
  const size = bytes < 1_000 ? `${Math.round(bytes)} B` : `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} KB`;
  const [most] = [
    { name: "bge-m3", dollars: usd.workersAi },
    { name: "D1", dollars: usd.d1 },
    { name: "Queues", dollars: usd.queues },
    { name: "Workers", dollars: usd.workers },
  ].toSorted((a, b) => b.dollars - a.dollars);
  const share = most === undefined ? "" : `, ${Math.round((100 * most.dollars) / usd.total)} % of it ${most.name}`;
  return (
    `On Cloudflare, a million documents like these (${size} each): about ${dollars(usd.total)}${share}. ` +
    `Assumed, as by sluice push --estimate: ${COST_ASSUMPTION}.`
  );
}

export function costItems(push: PushMeasured, parts: readonly PartMeasured[], jobs: readonly Job[]): Item[] {
  const documents = sum(parts, (part) => part.documents);
  const staged = parts.filter(isStaged).length;
  const textRows = new Set(parts.map((part) => part.textRow)).size;
  // The message of a staged part only names it.
  const units = sum(parts, (part) => (isStaged(part) ? 1 : queueOperations(part.bytes)));
  const operations = units * OPERATIONS_PER_MESSAGE;
  const dispatches = sum(jobs, (job) => job.dispatches);
  const again = sum(jobs, (job) => job.again);
  // A job may hold documents of other submissions: what was paid again is shared out as its tokens are.
  const used = sum(jobs, (job) => job.tokens);
  const wasted = used === 0 ? 0 : Math.round((push.tokens * sum(jobs, (job) => job.again * job.tokens)) / used);
  const rows =
    documents +
    push.ended +
    parts.length +
    textRows +
    staged * ROWS_A_STAGED_PART +
    jobs.length +
    dispatches * ROWS_A_DISPATCH +
    1;
  const requests = 1 + Math.ceil(parts.length / DELIVERY_MESSAGES);
  return [
    {
      name: "Queues",
      amount: `${push.killed ? "at least " : ""}${counted(operations, "operation")}: ${describeMessages(parts.length, units)}`,
      dollars: operations * PRICES.queueOperation,
    },
    {
      name: "D1",
      amount:
        `at least ${counted(rows, "row")} written: ${counted(documents, "document")}, ${counted(push.ended, "outcome")}, ` +
        `${counted(parts.length, "part")}${staged === 0 ? "" : ` (${count(staged)} staged)`}, ` +
        `${counted(textRows, "row")} of texts, ${counted(jobs.length, "job")}, ` +
        `${counted(dispatches, "dispatch", "dispatches")}, the submission`,
      dollars: rows * PRICES.rowWritten,
    },
    {
      name: "Workers",
      amount: `at least ${counted(requests, "request")}: the push and its ${requests === 2 ? "delivery" : "deliveries"}`,
      dollars: requests * PRICES.workerRequest,
    },
    {
      name: "bge-m3",
      amount:
        `${counted(push.tokens, "input token")}, as the local stand-in estimates them` +
        (again === 0
          ? ""
          : `; up to ${count(wasted)} more for ${counted(again, "repeated dispatch", "repeated dispatches")}`),
      dollars: (push.tokens + wasted) * PRICES.bgeM3Token,
    },
  ];
}

/** Each 64 KB begun of a message is billed as it is written, as it is read, and as it is deleted. */
function describeMessages(messages: number, units: number): string {
  const size = units === messages ? "" : ` in ${counted(units, "unit")} of 64 KB`;
  return `${counted(messages, "message")}${size}, written, read and deleted`;
}

function isStaged({ bytes }: PartMeasured): boolean {
  return bytes > MAX_PART_BYTES;
}
