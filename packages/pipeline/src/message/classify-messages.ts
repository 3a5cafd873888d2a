import type { Context } from "../platform/context.ts";
import type { DeliveredMessage } from "./delivery.ts";
import { readMessage, type ReadMalformed, type ReadPart, type ReadReference } from "./read-messages.ts";
import { lookUpParts, type RecordedRoom } from "./sql/look-up-parts.ts";

/** The messages of a delivery, grouped by how to process them. */
export interface ClassifiedMessages {
  /** Parts to record. */
  readonly parts: readonly ReadPart[];
  /** References to staged parts, which must be fetched and recorded. */
  readonly staged: readonly ReadReference[];
  /** Messages with the same part as an earlier one of this delivery, and the id of that one. */
  readonly duplicates: readonly { readonly message: DeliveredMessage; readonly first: string }[];
  /** Messages whose parts are recorded already, or whose submissions ended so long ago that they are deleted. */
  readonly done: readonly DeliveredMessage[];
  readonly malformed: readonly ReadMalformed[];
  /** The recorded level of the database; `null` if it is unknown. */
  readonly room: RecordedRoom | null;
}

/** Parses the messages of a delivery and looks up which of their parts are recorded. One statement. */
export async function classify(context: Context, messages: readonly DeliveredMessage[]): Promise<ClassifiedMessages> {
  const parts: ReadPart[] = [];
  const staged: ReadReference[] = [];
  const duplicates: { message: DeliveredMessage; first: string }[] = [];
  const done: DeliveredMessage[] = [];
  const malformed: ReadMalformed[] = [];
  const readable: (ReadPart | ReadReference)[] = [];
  for (const one of messages.map(readMessage)) {
    if (one.kind === "malformed") malformed.push(one);
    else readable.push(one);
  }
  const { statuses, room } = await lookUpParts(
    context.db,
    readable.map((one) => one.part),
  );
  const firsts = new Map<string, string>();
  for (const [index, one] of readable.entries()) {
    const { message, part, body } = one;
    const key = `${part.submission} ${part.part}`;
    const first = firsts.get(key);
    if (statuses[index] === "recorded" || statuses[index] === "forgotten") {
      done.push(message);
    } else if (statuses[index] !== "new") {
      malformed.push({ kind: "malformed", message, reason: "its submission is not in D1", body });
    } else if (first !== undefined) {
      duplicates.push({ message, first });
    } else {
      firsts.set(key, message.id);
      if (one.kind === "part") parts.push(one);
      else staged.push(one);
    }
  }
  return { parts, staged, duplicates, done, malformed, room };
}
