import { ABANDONED_AFTER, MESSAGE_LIFE, parseMessage, STAGED_AFTER, STALLED_AFTER, weighPart } from "@sluice/core";
import {
  dropEndedPauses,
  foldTotals,
  keepMalformedMessage,
  listStagedParts,
  readPauses,
  sweepSubmissions,
  unstagePart,
} from "@sluice/db";
import { recordJob, type StepIo } from "@sluice/dispatch";

/** Of 5,000 submissions and jobs each: 300 a second are kept up with. */
const MOST_FOLDS = 20;
/** Staged parts that one run records: each is up to 1 MB. */
const STAGED_PER_RUN = 9;

/**
 * What no message and no job brings about: closes abandoned pushes, counts lost documents, and
 * records staged parts whose message does not come. Once every five minutes.
 */
export async function lookAfterSubmissions(io: StepIo): Promise<void> {
  const now = io.now();
  await recordStagedParts(io, now);
  await sweepSubmissions(io.db, {
    now,
    settledBy: now - STALLED_AFTER,
    abandonedBefore: now - ABANDONED_AFTER,
    lostBefore: now - MESSAGE_LIFE,
  });
  await dropEndedPauses(io.db);
  for (let folds = 1; folds < MOST_FOLDS && (await foldTotals(io.db, now - STALLED_AFTER)); folds += 1);
}

async function recordStagedParts(io: StepIo, now: number): Promise<void> {
  const staged = await listStagedParts(io.db, now - STAGED_AFTER, STAGED_PER_RUN);
  if (staged.length === 0) return;
  const pauses = await readPauses(io.db, now);
  for (const { body, submission, part: number } of staged) {
    const read = parseMessage(body);
    if (!read.ok || read.value.kind !== "part") {
      // Kept with the messages that nobody can read, so that it does not stand before those behind it.
      const reason = read.ok ? "it refers to another part" : read.error;
      await keepMalformedMessage(io.db, { queue: "staged_parts", id: `${submission}/${number}`, reason, body }, now);
      await unstagePart(io.db, submission, number);
      io.log({ event: "staged_part_unreadable", submission, part: number, reason });
      continue;
    }
    const part = read.value;
    await recordJob(io, [{ part, body, weight: weighPart(part) }], pauses);
    io.log({ event: "staged_part_recorded", submission, part: number });
  }
}
