import { err, lanes, ok, withTimeout, type Lane, type Result } from "@sluice/core";
import { countOpenJobs } from "@sluice/pipeline/job/sql/count-open-jobs.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { countMalformedMessages } from "@sluice/pipeline/message/sql/read-malformed-messages.ts";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import { readHeartbeat } from "@sluice/pipeline/platform/sql/heartbeat.ts";
import { readUpkeep } from "@sluice/pipeline/platform/sql/read-upkeep.ts";
import { countStalled } from "@sluice/pipeline/submission/sql/count-stalled.ts";
import { readEndedJobs, readFailureTotals, readLaneTotals } from "@sluice/pipeline/submission/sql/read-totals.ts";
import { readNow, type ApiContext } from "../context.ts";
import type { ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { METRICS_LIMITS, type MetricsFacts, type QueueFacts } from "../shapes/metrics.ts";

/** Milliseconds. The metrics of the database are worth more than those of a queue that does not answer. */
const QUEUE_TIMEOUT_MS = 5_000;

/** Everything that `/metrics` shows, over all collections, and therefore only for keys of all collections. */
export async function getMetrics(
  context: ApiContext,
  { key }: { readonly key: ApiKey },
): Promise<Result<MetricsFacts, Problem>> {
  if (key.collections !== null) {
    return err({ name: "forbidden", detail: "The key is limited to some collections, and metrics count all of them." });
  }
  const { db } = context;
  const limits = METRICS_LIMITS;
  const now = await readNow(context);
  const [lanesTotals, endedJobs, openJobs, failures, stalled, malformed, pauses, lastRunAt, upkeep, queues] =
    await Promise.all([
      readLaneTotals(db, limits.submissions),
      readEndedJobs(db, limits.endedJobs),
      countOpenJobs(db, limits.openJobs),
      readFailureTotals(db, limits.submissions),
      countStalled(db, now, limits.stalled),
      countMalformedMessages(db, limits.malformed),
      readPauses(db, now),
      readHeartbeat(db),
      readUpkeep(db),
      readQueues(context),
    ]);
  return ok({
    now,
    lanes: lanesTotals,
    endedJobs,
    openJobs,
    failures,
    stalled,
    malformed,
    pauses,
    lastRunAt,
    upkeep,
    queues,
  });
}

/** What the queues report of themselves, without those that report nothing. */
async function readQueues({ queues, log }: ApiContext): Promise<QueueFacts[]> {
  const read = async (lane: Lane): Promise<QueueFacts | null> => {
    const queue = queues[lane];
    if (queue.metrics === undefined) return null;
    try {
      const late = () => new Error("the queue does not report its metrics");
      const {
        backlogCount,
        backlogBytes,
        oldestMessageTimestamp: oldest,
      } = await withTimeout(queue.metrics(), QUEUE_TIMEOUT_MS, late);
      // The local runtime reports 0 for an empty queue.
      const oldestAt = oldest === undefined ? 0 : Number(oldest);
      return { lane, messages: backlogCount, bytes: backlogBytes, oldestAt: oldestAt > 0 ? oldestAt : null };
    } catch (error) {
      log({ event: "queue_metrics_missing", lane, ...describeError(error) });
      return null;
    }
  };
  return (await Promise.all(lanes.map(read))).filter((facts) => facts !== null);
}
