import { submissionNamed } from "@sluice/pipeline/message/message.ts";
import type { MalformedKey, MalformedRow } from "@sluice/pipeline/message/sql/read-malformed-messages.ts";
import * as z from "zod";
import { fromBase64url, toBase64url } from "../http/base64url.ts";
import { count, time, timeSchema } from "./time.ts";

/** A quarantined message, without its text. */
export const malformedMessageSchema = z.strictObject({
  id: z.string().describe("Opaque; it does not change."),
  queue: z.string().describe("The queue that it is from; `staged_parts`: it was staged in D1."),
  message_id: z.string().describe("Its id in the queue."),
  reason: z.string(),
  submission_id: z.string().nullable().describe("The submission that it names, if any."),
  bytes: count.describe("Size of its body in UTF-8."),
  received_at: timeSchema,
});
export type MalformedShape = z.infer<typeof malformedMessageSchema>;

export function malformedShape(row: MalformedRow): MalformedShape {
  return {
    id: writeMalformedId(row),
    queue: row.queue,
    message_id: row.id,
    reason: row.reason,
    submission_id: submissionNamed(row.head),
    bytes: row.bytes,
    received_at: time(row.receivedAt),
  };
}

const PREFIX = "msg_";

/** The key of the row as one opaque word. Queue names have no slash. */
export function writeMalformedId({ queue, id }: MalformedKey): string {
  return PREFIX + toBase64url(`${queue}/${id}`);
}

/** `null`: not an id of a message. */
export function parseMalformedId(text: string): MalformedKey | null {
  const key = text.startsWith(PREFIX) ? fromBase64url(text.slice(PREFIX.length)) : null;
  const [, queue, id] = /^([^/]+)\/(.+)$/s.exec(key ?? "") ?? [];
  return queue === undefined || id === undefined ? null : { queue, id };
}
