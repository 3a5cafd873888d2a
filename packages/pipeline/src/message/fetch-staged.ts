import type { Database } from "@sluice/db";
import type { Context } from "../platform/context.ts";
import type { DeliveredMessage } from "./delivery.ts";
import { parseMessage } from "./message.ts";
import type { ReadMalformed, ReadPart, ReadReference } from "./read-messages.ts";
import { lookUpParts } from "./sql/look-up-parts.ts";
import { readStagedPart } from "./sql/stage-parts.ts";

/** Maximum staged parts in memory, each up to 1 MB: together about one job. */
export const STAGED_AT_ONCE = 9;

/** The parts that the references of a delivery name. */
export interface FetchedParts {
  readonly parts: readonly ReadPart[];
  /** Messages whose parts are recorded already. */
  readonly done: readonly DeliveredMessage[];
  readonly malformed: readonly ReadMalformed[];
}

/** Fetches staged parts. A part that is not staged was recorded already or never existed. */
export async function fetchStaged(context: Context, references: readonly ReadReference[]): Promise<FetchedParts> {
  const parts: ReadPart[] = [];
  const malformed: ReadMalformed[] = [];
  const gone: ReadReference[] = [];
  for (const reference of references) {
    const fetched = await fetchOne(context.db, reference);
    if (fetched === null) gone.push(reference);
    else if (fetched.kind === "part") parts.push(fetched);
    else malformed.push(fetched);
  }
  if (gone.length === 0) return { parts, malformed, done: [] };
  // Checked after the part was not found there: recording removes it in the same transaction.
  const { statuses } = await lookUpParts(
    context.db,
    gone.map(({ part }) => part),
  );
  const done: DeliveredMessage[] = [];
  for (const [index, { message, body }] of gone.entries()) {
    if (statuses[index] === "recorded" || statuses[index] === "forgotten") done.push(message);
    else malformed.push({ kind: "malformed", message, reason: "its part is not staged", body });
  }
  return { parts, malformed, done };
}

/** Fetches a staged part of up to 1 MB; `null` if it is not staged, or no longer. */
async function fetchOne(db: Database, { message, part }: ReadReference): Promise<ReadPart | ReadMalformed | null> {
  const body = await readStagedPart(db, part.submission, part.part);
  if (body === null) return null;
  const read = parseMessage(body);
  if (read.ok && read.value.kind === "part") return { kind: "part", message, part: read.value, body };
  return { kind: "malformed", message, reason: read.ok ? "the staged part refers to another part" : read.error, body };
}
