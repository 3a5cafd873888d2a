import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Clocks that are wrong, of Workers and of D1. */
export const CLOCKS: readonly Mutation[] = [
  mutation(
    "id-of-isolate-clock",
    "a submission is opened by the clock of the Worker that opens it",
    "openPush",
    "tail, context.databaseTime())",
    "tail, context.now())",
    2,
  ),
  mutation(
    "id-behind-newest",
    "an id is of D1's time also where the newest one is ahead of that",
    "insertSubmission",
    "iif(fresh > newest, fresh, ${idAfter(sql`newest`, token)})",
    "fresh",
  ),
  mutation(
    "id-a-millisecond-later",
    "an id that follows one ahead of the clock moves the time on",
    "idAfter",
    "return sql`iif(${low} = 'ffffffffffff',",
    "return sql`iif(${low} <> '',",
  ),
  mutation(
    "opened-twice",
    "a repeated try opens another submission, though the first one committed",
    "open",
    "NOT EXISTS (${own}) AND NOT EXISTS",
    "NOT EXISTS",
  ),
  mutation(
    "takeover-of-isolate-clock",
    "a push is taken over by the clock of the Worker that asks for it",
    "takeOver",
    "{ db, databaseTime, random }",
    "{ db, now: databaseTime, random }",
  ),
  withKind(
    "resuming",
    mutation(
      "takeover-waits-for-clock",
      "a push whose last activity is ahead of D1's clock is not taken over until the clock gets there",
      "takeOverPush",
      "AND active_at < ${timeAfter(now, PUSH_ALIVE_MS)}",
      "",
    ),
  ),
  mutation(
    "steps-of-isolate-clock",
    "consumer and poller stay with their own clocks",
    "withDatabaseClock",
    "const ahead = Math.round(time - (before + took / 2));",
    "const ahead = 0;",
  ),
  mutation(
    "claims-of-isolate-clock",
    "the poller claims what is due by its own clock",
    "workThrough",
    "[context.databaseTime(), isolate.now()]",
    "[isolate.now(), isolate.now()]",
  ),
];
