import type { Database } from "@sluice/db";
import type { Context } from "../platform/context.ts";
import type { DeliveredMessage } from "./delivery.ts";
import { parseMessage } from "./message.ts";
import type { ReadMalformed, ReadPart, ReadReference } from "./read-messages.ts";
import { lookUpParts } from "./sql/look-up-parts.ts";
import { readStagedPart } from "./sql/stage-parts.ts";

/** Staged parts that are in memory at once, each up to 1 MB: about a job's worth. */
export const STAGED_AT_ONCE = 9;

/** What the references of a delivery lead to. */
export interface FetchedParts {
  readonly parts: readonly ReadPart[];
  /** Messages of parts that are recorded already. */
  readonly done: readonly DeliveredMessage[];
  readonly malformed: readonly ReadMalformed[];
}

/** Fetches staged parts. One that is not staged any more is recorded, or was never there. */
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
  // Asked after the part was not found there: what records it takes it away in the same transaction.
  const statuses = await lookUpParts(
    context.db,
    gone.map(({ part }) => part),
  );
  const done: DeliveredMessage[] = [];
  for (const [index, { message, body }] of gone.entries()) {
    if (statuses[index] === "recorded") done.push(message);
    else malformed.push({ kind: "malformed", message, reason: "its part is not staged", body });
  }
  return { parts, malformed, done };
}

/** Fetches a part that is staged: up to 1 MB. `null`: it is not staged, or not any more. */
async function fetchOne(db: Database, { message, part }: ReadReference): Promise<ReadPart | ReadMalformed | null> {
  const body = await readStagedPart(db, part.submission, part.part);
  if (body === null) return null;
  const read = parseMessage(body);
  if (read.ok && read.value.kind === "part") return { kind: "part", message, part: read.value, body };
  return { kind: "malformed", message, reason: read.ok ? "a staged part refers to another" : read.error, body };
}
