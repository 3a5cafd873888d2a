import { parseMessage, type Message, type PartMessage } from "./message.ts";
import type { DeliveredMessage } from "./delivery.ts";

/** A part, with the text of its message. */
export interface ReadPart {
  readonly kind: "part";
  readonly message: DeliveredMessage;
  readonly part: PartMessage;
  readonly body: string;
}
/** A reference to a part that is staged in D1. */
export interface ReadReference {
  readonly kind: "staged";
  readonly message: DeliveredMessage;
  readonly part: Exclude<Message, PartMessage>;
  readonly body: string;
}
export interface ReadMalformed {
  readonly kind: "malformed";
  readonly message: DeliveredMessage;
  readonly reason: string;
  readonly body: string;
}

/** Parses a message. Does not fetch the part that it refers to. */
export function readMessage(message: DeliveredMessage): ReadPart | ReadReference | ReadMalformed {
  const parsed = parseMessage(message.body);
  const body = bodyText(message.body);
  if (!parsed.ok) return { kind: "malformed", message, reason: parsed.error, body };
  const { value } = parsed;
  return value.kind === "part"
    ? { kind: "part", message, part: value, body }
    : { kind: "staged", message, part: value, body };
}

/** Converts any body to text: a message that cannot be parsed is quarantined for a person to inspect. */
function bodyText(body: unknown): string {
  if (typeof body === "string") return body;
  if (body === undefined || typeof body === "bigint") return `${body}`;
  if (body instanceof ArrayBuffer) return new TextDecoder().decode(body);
  try {
    return JSON.stringify(body);
  } catch {
    return "(a value that JSON cannot represent)";
  }
}
