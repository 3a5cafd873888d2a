import {
  ABANDONED_AFTER,
  FOLD_AFTER,
  MESSAGE_LIFE,
  parseMessage,
  stagedAfter,
  STALLED_AFTER,
  weighPart,
} from "@sluice/core";
import {
  dropEndedPauses,
  foldTotals,
  keepMalformedMessage,
  listStagedParts,
  readPauses,
  sweepSubmissions,
  unstagePart,
} from "@sluice/db";
import { planRecording, recordJob, STAGED_AT_ONCE, type PlannedPart, type StepIo } from "@sluice/dispatch";

/** Of 5,000 submissions and jobs each: 300 a second are kept up with. */
const MOST_FOLDS = 20;
/** As often as that in one run. */
const MOST_STAGED_ROUNDS = 10;

/**
 * What no message and no job brings about: closes abandoned pushes, counts lost documents, and
 * records staged parts whose message does not come. Once every five minutes.
 */
export async function lookAfterSubmissions(io: StepIo): Promise<void> {
  const now = io.now();
  await sweepSubmissions(io.db, {
    now,
    settledBy: now - STALLED_AFTER,
    abandonedBefore: now - ABANDONED_AFTER,
    lostBefore: now - MESSAGE_LIFE,
  });
  await dropEndedPauses(io.db, now);
  for (let folds = 1; folds < MOST_FOLDS && (await foldTotals(io.db, now - FOLD_AFTER)); folds += 1);
  for (let round = 0; round < MOST_STAGED_ROUNDS && (await recordStagedParts(io, now)); round += 1);
}

/** Records the oldest staged parts whose message does not come. Gives whether there may be more. */
async function recordStagedParts(io: StepIo, now: number): Promise<boolean> {
  const staged = await listStagedParts(io.db, now - stagedAfter(io.runInterval), STAGED_AT_ONCE);
  if (staged.length === 0) return false;
  const parts: PlannedPart[] = [];
  for (const { body, submission, part: number } of staged) {
    const read = parseMessage(body);
    if (read.ok && read.value.kind === "part") {
      parts.push({ part: read.value, weight: weighPart(read.value) });
      continue;
    }
    // Kept with the messages that nobody can read, so that it does not stand before those behind it.
    const reason = read.ok ? "it refers to another part" : read.error;
    await keepMalformedMessage(io.db, { queue: "staged_parts", id: `${submission}/${number}`, reason, body }, now);
    await unstagePart(io.db, submission, number);
    io.log({ event: "staged_part_unreadable", submission, part: number, reason });
  }
  const pauses = await readPauses(io.db, now);
  let recorded = 0;
  for (const job of planRecording(parts)) {
    recorded += (await recordJob(io, job, pauses)).filter((one) => one).length;
  }
  io.log({ event: "staged_parts_recorded", parts: recorded });
  return staged.length === STAGED_AT_ONCE && recorded === parts.length;
}
