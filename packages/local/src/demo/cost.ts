import type { SubmissionId } from "@sluice/core";
import * as z from "zod";
import { queryD1 } from "./d1.ts";
import { count, counted, dollars, pad } from "./figures.ts";

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

const partSchema = z.object({ documents: z.number(), bytes: z.number() });
/** Said once, below all pushes. */
export const COST_NOTE =
  "D1 counts more rows than it keeps: index entries, and the updates that jobs and submissions get on the way.";

const PARTS = `SELECT p.document_count AS documents, sum(d.payload_bytes) AS bytes
  FROM parts p CROSS JOIN json_each(p.documents) n
  CROSS JOIN documents d ON d.document_id = n.value AND d.submission_id = p.submission_id
    AND d.collection = (SELECT collection FROM submissions WHERE id = p.submission_id)
  WHERE p.submission_id = ?1 GROUP BY p.part`;

/** What is known of a push that ended. */
export interface PushMeasured {
  readonly submission: SubmissionId;
  readonly ended: number;
  readonly jobs: number;
  readonly tokens: number;
}

interface Item {
  readonly name: string;
  readonly amount: string;
  readonly dollars: number;
}

/** What the push would cost on Cloudflare, and a million documents like these. */
export async function showCost(url: string, push: PushMeasured): Promise<string> {
  const parts = await queryD1(url, PARTS, [push.submission], partSchema);
  const items = costItems(push, parts);
  const total = items.reduce((sum, item) => sum + item.dollars, 0);
  const documents = parts.reduce((sum, part) => sum + part.documents, 0);
  return [
    "On Cloudflare, at list price with free tiers ignored, this push would cost:",
    ...items.map(({ name, amount, dollars: price }) => `  ${pad(name, 8)} ${pad(dollars(price), 13)} ${amount}`),
    `  ${pad("total", 8)} ${pad(dollars(total), 13)} a million documents like these: about ${dollars((total / Math.max(1, documents)) * 1e6)}`,
  ].join("\n");
}

export function costItems(push: PushMeasured, parts: readonly z.output<typeof partSchema>[]): Item[] {
  const documents = parts.reduce((sum, part) => sum + part.documents, 0);
  const operations = parts.reduce(
    (sum, part) => sum + OPERATIONS_A_MESSAGE * Math.ceil(part.bytes / OPERATION_BYTES),
    0,
  );
  const rows = documents + push.ended + parts.length + push.jobs + 1;
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
        `${counted(parts.length, "part")}, ${counted(push.jobs, "job")}, the submission`,
      dollars: rows * PRICE.rowWritten,
    },
    {
      name: "Workers",
      amount: `at least ${counted(requests, "request")}: the push and its deliveries`,
      dollars: requests * PRICE.workerRequest,
    },
    {
      name: "bge-m3",
      amount: `${count(push.tokens)} input tokens, as the local stand-in counts them`,
      dollars: push.tokens * PRICE.bgeM3Token,
    },
  ];
}
