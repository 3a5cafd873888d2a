import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Wrong clocks of Workers and of D1. */
export const CLOCKS: readonly Mutation[] = [
  mutation(
    "id-of-isolate-clock",
    "a submission is opened with the time of its Worker's clock",
    "openPush",
    "tail, context.databaseTime(), needed)",
    "tail, context.now(), needed)",
    2,
  ),
  mutation(
    "id-behind-newest",
    "an id has D1's time even if the newest id is ahead of it",
    "insertSubmission",
    "iif(fresh > newest, fresh, ${idAfter(sql`newest`, token)})",
    "fresh",
  ),
  mutation(
    "id-a-millisecond-later",
    "an id that follows one ahead of the clock advances the time",
    "idAfter",
    "return sql`iif(${low} = 'ffffffffffff',",
    "return sql`iif(${low} <> '',",
  ),
  mutation(
    "opened-twice",
    "a retried open creates another submission although the first one committed",
    "open",
    "NOT EXISTS (${own}) AND ${isKeyFree}",
    "${isKeyFree}",
  ),
  mutation(
    "takeover-of-isolate-clock",
    "a takeover of a push uses the Worker's clock",
    "takeOver",
    "{ db, databaseTime, random }",
    "{ db, now: databaseTime, random }",
  ),
  withKind(
    "resuming",
    mutation(
      "takeover-waits-for-clock",
      "a push whose last activity is ahead of D1's clock cannot be taken over until the clock reaches it",
      "takeOverPush",
      "AND active_at < ${timeAfter(now, PUSH_ALIVE_MS)}",
      "",
    ),
  ),
  mutation(
    "steps-of-isolate-clock",
    "consumer and poller use their own clocks",
    "withDatabaseClock",
    "const ahead = Math.round(time - (before + took / 2));",
    "const ahead = 0;",
  ),
  mutation(
    "claims-of-isolate-clock",
    "the poller claims due jobs by its own clock",
    "workThrough",
    "[context.databaseTime(), isolate.now()]",
    "[isolate.now(), isolate.now()]",
  ),
];
