import { MAX_PART_BYTES, type SubmissionId } from "@sluice/core";
import * as z from "zod";
import { queryD1 } from "./d1.ts";
import { count, counted, dollars, pad, sum } from "./figures.ts";

/** List prices in dollars, free tiers ignored (developers.cloudflare.com, November 2026). */
const PRICE = {
  queueOperation: 0.4 / 1e6,
  rowWritten: 1 / 1e6,
  workerRequest: 0.3 / 1e6,
  bgeM3Token: 0.012 / 1e6,
};
/** An operation for each 64 KB of a message written, read and deleted. */
const OPERATION_BYTES = 64_000;
const OPERATIONS_A_MESSAGE = 3;
/** Messages that one delivery brings, at most. */
const DELIVERY_MESSAGES = 100;
/** One staged part is a row and the entry of its key written and, once it is recorded, a row deleted. */
const ROWS_A_STAGED_PART = 3;
/** A dispatch that is started, and its end. */
const ROWS_A_DISPATCH = 2;

/** Said once, below all pushes. */
export const COST_NOTE =
  "D1 counts more rows than it keeps: index entries, and the updates that jobs and submissions get on the way.";

/** `textRow`: which row its texts lie in, alone or with those of other parts. */
const partSchema = z.object({ documents: z.number(), bytes: z.number(), textRow: z.number() });
/** A message has a document's id, metadata and context ids besides what a request of a batch has. */
const PARTS = `SELECT p.document_count AS documents, min(d.contexts_id) AS textRow, sum(d.payload_bytes + octet_length(d.document_id)
    + coalesce(octet_length(d.context_ids), 0) + coalesce(octet_length(d.metadata), 0)) AS bytes
  FROM parts p CROSS JOIN json_each(p.documents) n
  CROSS JOIN documents d ON d.document_id = n.value AND d.submission_id = p.submission_id
    AND d.collection = (SELECT collection FROM submissions WHERE id = p.submission_id)
  WHERE p.submission_id = ?1 GROUP BY p.part`;

const jobSchema = z.object({ dispatches: z.number(), again: z.number(), tokens: z.number() });
/** With the jobs that follow one up: its halves, and what was left of it. */
const JOBS = `WITH RECURSIVE family (id) AS (
    SELECT job_id FROM parts WHERE submission_id = ?1
    UNION SELECT j.id FROM family f CROSS JOIN jobs j ON j.parent_id = f.id)
  SELECT attempt AS dispatches, unconfirmed_dispatches + repeated_dispatches AS again, coalesce(tokens, 0) AS tokens
  FROM family CROSS JOIN jobs USING (id)`;

/** What is known of a push that ended. */
export interface PushMeasured {
  readonly submission: SubmissionId;
  readonly ended: number;
  readonly tokens: number;
}

type Part = z.output<typeof partSchema>;
/** `again`: dispatches whose inference may have been paid without being used. */
type Job = z.output<typeof jobSchema>;

interface Item {
  readonly name: string;
  readonly amount: string;
  readonly dollars: number;
}

/** What the push would cost on Cloudflare, and a million documents like these. */
export async function showCost(url: string, push: PushMeasured): Promise<string> {
  const parts = await queryD1(url, PARTS, [push.submission], partSchema);
  const jobs = await queryD1(url, JOBS, [push.submission], jobSchema);
  const items = costItems(push, parts, jobs);
  return [
    "On Cloudflare, at list price with free tiers ignored, this push would cost:",
    ...items.map(({ name, amount, dollars: price }) => `  ${pad(name, 8)} ${pad(dollars(price), 13)} ${amount}`),
    `  ${pad("total", 8)} ${pad(dollars(sum(items, (item) => item.dollars)), 13)} ${describeMillion(items, parts)}`,
  ].join("\n");
}

/** Says how large the documents are, and what most of the money is for: the figure alone may be startling. */
export function describeMillion(items: readonly Item[], parts: readonly Part[]): string {
  const total = sum(items, (item) => item.dollars);
  const documents = Math.max(
    1,
    sum(parts, (part) => part.documents),
  );
  const bytes = sum(parts, (part) => part.bytes) / documents;
  const size = bytes < 1_000 ? `${Math.round(bytes)} B` : `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} KB`;
  const [most] = items.toSorted((a, b) => b.dollars - a.dollars);
  const share =
    most === undefined || total === 0 ? "" : `, ${Math.round((100 * most.dollars) / total)} % of it ${most.name}`;
  return `a million documents like these (${size} each): about ${dollars((total / documents) * 1e6)}${share}`;
}

export function costItems(push: PushMeasured, parts: readonly Part[], jobs: readonly Job[]): Item[] {
  const documents = sum(parts, (part) => part.documents);
  const staged = parts.filter(isStaged).length;
  const textRows = new Set(parts.map((part) => part.textRow)).size;
  // The message of a staged part only names it.
  const operations = sum(
    parts,
    (part) => OPERATIONS_A_MESSAGE * (isStaged(part) ? 1 : Math.ceil(part.bytes / OPERATION_BYTES)),
  );
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
      amount: `about ${counted(operations, "operation")}: ${counted(parts.length, "message")}, written, read and deleted`,
      dollars: operations * PRICE.queueOperation,
    },
    {
      name: "D1",
      amount:
        `at least ${counted(rows, "row")} written: ${counted(documents, "document")}, ${counted(push.ended, "outcome")}, ` +
        `${counted(parts.length, "part")}${staged === 0 ? "" : ` (${count(staged)} staged)`}, ` +
        `${counted(textRows, "row")} of texts, ${counted(jobs.length, "job")}, ` +
        `${counted(dispatches, "dispatch", "dispatches")}, the submission`,
      dollars: rows * PRICE.rowWritten,
    },
    {
      name: "Workers",
      amount: `at least ${counted(requests, "request")}: the push and its deliveries`,
      dollars: requests * PRICE.workerRequest,
    },
    {
      name: "bge-m3",
      amount:
        `${count(push.tokens)} input tokens, as the local stand-in counts them` +
        (again === 0 ? "" : `; up to ${count(wasted)} more for ${counted(again, "dispatch", "dispatches")} again`),
      dollars: (push.tokens + wasted) * PRICE.bgeM3Token,
    },
  ];
}

/** As far as D1 shows it afterwards: a document by itself that no message can hold. */
function isStaged({ documents, bytes }: Part): boolean {
  return documents === 1 && bytes > MAX_PART_BYTES - FRAME_BYTES;
}

/** Of a part's body besides its document, about: ids, options and a hash. */
const FRAME_BYTES = 350;
