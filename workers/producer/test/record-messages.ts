import { env } from "cloudflare:test";
import { parseMessage } from "@sluice/pipeline/message/message.ts";
import { weighPart } from "@sluice/pipeline/job/plan-jobs.ts";
import type { JobId } from "@sluice/core";
import { openDatabase } from "@sluice/db";
import { partToRecord } from "@sluice/pipeline/message/part-to-record.ts";
import { recordParts } from "@sluice/pipeline/message/sql/record-parts.ts";
import { NOW } from "./api.ts";

/** Records parts in one job, as the consumer would; gives the number of their documents. */
export async function recordMessages(bodies: readonly string[], job: JobId, now = NOW): Promise<number> {
  const parts = bodies.map((body) => {
    const message = parseMessage(body);
    if (!message.ok || message.value.kind !== "part") throw new Error("a message is no part");
    return { head: message.value, record: partToRecord(message.value, weighPart(message.value)) };
  });
  const [first] = parts;
  if (first === undefined) return 0;
  const { model, lane } = first.head;
  const transaction = { statements: parts.map(({ record }) => ({ contextsRows: [{ parts: [record] }] })) };
  await recordParts(openDatabase(env.DB), { id: job, model, lane, leaseUntil: now + 120_000 }, transaction, now);
  return parts.reduce((sum, part) => sum + part.record.documentIds.length, 0);
}
