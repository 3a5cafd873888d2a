import { parseMessage, parseSubmissionId, type Message, type PartMessage } from "@sluice/core";
import { readStagedPart, type Database } from "@sluice/db";

/** A message as a delivery holds it. */
export interface DeliveredMessage {
  readonly id: string;
  readonly body: unknown;
}

/** What a message turned out to carry. */
export type ReadMessage =
  | { readonly kind: "part"; readonly message: DeliveredMessage; readonly part: PartMessage; readonly body: string }
  /** A reference whose part is not staged any more: recorded already, or never there. */
  | { readonly kind: "unstaged"; readonly message: DeliveredMessage; readonly reference: Message }
  | { readonly kind: "malformed"; readonly message: DeliveredMessage; readonly reason: string; readonly body: string };

/** Parses messages one by one, fetching what is staged. */
export async function readMessages(db: Database, messages: readonly DeliveredMessage[]): Promise<ReadMessage[]> {
  const read: ReadMessage[] = [];
  for (const message of messages) read.push(await readMessage(db, message));
  return read;
}

async function readMessage(db: Database, message: DeliveredMessage): Promise<ReadMessage> {
  const parsed = parseMessage(message.body);
  const body = bodyText(message.body);
  if (!parsed.ok) return { kind: "malformed", message, reason: parsed.error, body };
  if (parsed.value.kind === "part") return { kind: "part", message, part: parsed.value, body };
  const staged = await readStagedPart(db, parsed.value.submission, parsed.value.part);
  if (staged === null) return { kind: "unstaged", message, reference: parsed.value };
  const part = parseMessage(staged);
  if (part.ok && part.value.kind === "part") return { kind: "part", message, part: part.value, body: staged };
  return { kind: "malformed", message, reason: part.ok ? "a staged part refers to another" : part.error, body };
}

/** As text, whatever came: a message that nobody can read is kept for a person to look at. */
function bodyText(body: unknown): string {
  if (typeof body === "string") return body;
  if (body === undefined || typeof body === "bigint") return `${body}`;
  if (body instanceof ArrayBuffer) return new TextDecoder().decode(body);
  try {
    return JSON.stringify(body);
  } catch {
    return "(a value that JSON cannot hold)";
  }
}

/** The submission and lane that a malformed body names, for the log; null where it names none. */
export function submissionNamed(body: string): string | null {
  const found = /"submission":"(sub_[0-9a-f-]{36})"/.exec(body)?.[1];
  return found === undefined ? null : parseSubmissionId(found);
}
