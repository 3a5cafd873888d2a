import { err, ok, type Result } from "@sluice/core";
import {
  countEndedSince,
  readFailureTotals,
  readJobTotals,
  readLaneTotals,
} from "@sluice/pipeline/submission/sql/read-totals.ts";
import { countMalformedMessages } from "@sluice/pipeline/message/sql/read-malformed-messages.ts";
import { readDatabaseSize } from "@sluice/pipeline/platform/sql/database-size.ts";
import { readHeartbeat } from "@sluice/pipeline/platform/sql/heartbeat.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { readNow, type ApiContext } from "../context.ts";
import type { ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { statsShape, type StatsShape } from "../shapes/stats.ts";

const MINUTE_MS = 60_000;
/** Each one counted is a row read. */
const MAX_MALFORMED = 1_000;

/** Counts and state over all collections, and therefore only for keys of all collections. */
export async function getStats(
  context: ApiContext,
  { key }: { readonly key: ApiKey },
): Promise<Result<StatsShape, Problem>> {
  if (key.collections !== null) {
    const detail = "The key is limited to some collections, and stats count all of them: read /v1/submissions instead.";
    return err({ name: "forbidden", detail });
  }
  const { db, scorer } = context;
  const now = await readNow(context);
  const [lanes, jobs, failures, [fiveMinutes = 0, hour = 0], malformed, pauses, lastRunAt, size] = await Promise.all([
    readLaneTotals(db),
    readJobTotals(db),
    readFailureTotals(db),
    countEndedSince(db, [now - 5 * MINUTE_MS, now - 60 * MINUTE_MS]),
    countMalformedMessages(db, MAX_MALFORMED),
    readPauses(db, now),
    readHeartbeat(db),
    readDatabaseSize(db, now),
  ]);
  const ended = { fiveMinutes, hour };
  return ok(statsShape({ scorer, lanes, jobs, failures, ended, malformed, pauses, lastRunAt, size }));
}
