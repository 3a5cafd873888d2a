import { mutation, type Mutation } from "./mutation.ts";

const OPEN = "packages/pipeline/src/submission/sql/open-submission.ts";

/** Clocks that are wrong, of Workers and of D1. */
export const CLOCKS: readonly Mutation[] = [
  mutation(
    "id-of-isolate-clock",
    "a submission is opened by the clock of the Worker that opens it",
    "workers/producer/src/push/sending.ts",
    "tail, io.databaseTime())",
    "tail, io.now())",
    2,
  ),
  mutation(
    "id-behind-newest",
    "an id is of D1's time also where the newest one is ahead of that",
    OPEN,
    "iif(fresh > newest, fresh, ${idAfter(sql`newest`, token)})",
    "fresh",
  ),
  mutation(
    "id-a-millisecond-later",
    "an id that follows one ahead of the clock moves the time on",
    OPEN,
    "return sql`iif(${low} = 'ffffffffffff',",
    "return sql`iif(${low} <> '',",
  ),
  mutation(
    "opened-twice",
    "a repeated try opens another submission, though the first one committed",
    OPEN,
    "NOT EXISTS (${own})\n      AND NOT EXISTS",
    "NOT EXISTS",
  ),
  mutation(
    "takeover-of-isolate-clock",
    "a push is taken over by the clock of the Worker that asks for it",
    "workers/producer/src/push/idempotency.ts",
    "export async function takeOver(\n  { db, databaseTime, random }",
    "export async function takeOver(\n  { db, now: databaseTime, random }",
  ),
  mutation(
    "steps-of-isolate-clock",
    "consumer and poller stay with their own clocks",
    "packages/pipeline/src/platform/database-clock.ts",
    "const ahead = Math.round(time - (before + took / 2));",
    "const ahead = 0;",
  ),
  mutation(
    "claims-of-isolate-clock",
    "the poller claims what is due by its own clock",
    "packages/pipeline/src/job/run-poller.ts",
    "[context.databaseTime(), isolate.now()]",
    "[isolate.now(), isolate.now()]",
  ),
];
