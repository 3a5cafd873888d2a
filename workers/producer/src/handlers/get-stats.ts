import {
  countEndedSince,
  readFailureTotals,
  readJobTotals,
  readLaneTotals,
} from "@sluice/pipeline/submission/sql/read-totals.ts";
import { countMalformedMessages } from "@sluice/pipeline/message/sql/read-malformed-messages.ts";
import { readHeartbeat } from "@sluice/pipeline/platform/sql/heartbeat.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { readNow, type Call, type ApiContext } from "../context.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { parseQuery } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";
import { statsShape } from "../shapes/stats.ts";
import { noQuery } from "./get-submission.ts";

const MINUTE = 60_000;
/** Each that is counted is a row read. */
const MAX_MALFORMED = 1_000;

/** The state of the whole: for keys of all collections, since it is all of them that it counts. */
export async function getStats(dependencies: ApiContext, call: Call): Promise<Response> {
  const query = parseQuery(noQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  if (call.key.collections !== null) {
    const detail = "The key is limited to some collections, and stats count them all: read /v1/submissions instead.";
    return problemResponse({ name: "forbidden", detail });
  }
  const { db, scorer } = dependencies;
  const now = await readNow(dependencies);
  const [lanes, jobs, failures, [fiveMinutes = 0, hour = 0], malformed, pauses, lastRunAt] = await Promise.all([
    readLaneTotals(db),
    readJobTotals(db),
    readFailureTotals(db),
    countEndedSince(db, [now - 5 * MINUTE, now - 60 * MINUTE]),
    countMalformedMessages(db, MAX_MALFORMED),
    readPauses(db, now),
    readHeartbeat(db),
  ]);
  return jsonResponse(
    statsShape({ scorer, lanes, jobs, failures, ended: { fiveMinutes, hour }, malformed, pauses, lastRunAt }),
  );
}
