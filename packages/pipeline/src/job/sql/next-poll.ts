import { sql, type SQL } from "drizzle-orm";
import type { PollWaits } from "../schedule.ts";
import type { Time } from "../../platform/clock.ts";

/** When a job that is polled now is due again if its batch is still in progress. */
export function nextPoll({ waitMs, eagerMs }: PollWaits, now: Time): SQL {
  return sql`CAST(${now} + max(${waitMs}, iif(${now} - dispatched_at < ${eagerMs}, 0, (${now} - dispatched_at) / 10)) AS INTEGER)`;
}
