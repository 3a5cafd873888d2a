import { err, ok, type Result } from "@sluice/core";
import { findMissingTables } from "@sluice/db";
import { POLLER_SILENT_AFTER_MS } from "@sluice/pipeline/platform/alert-rules.ts";
import { readHeartbeat } from "@sluice/pipeline/platform/sql/heartbeat.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { readNow, type Reader } from "../context.ts";
import type { Problem } from "../http/problems.ts";
import { HEALTHY, type HealthShape } from "../shapes/health.ts";

const MINUTE_MS = 60_000;

/**
 * Whether pushed documents get scored: every table exists, the poller runs, and no model is stopped because Workers AI
 * refuses the account or the model. Requested pauses and the daily limit are not faults.
 */
export async function checkReadiness(context: Reader): Promise<Result<HealthShape, Problem>> {
  const { db, databaseTime } = context;
  const missing = await findMissingTables(db);
  if (missing.length > 0) {
    return notReady(`The database lacks ${missing.join(", ")}. Apply the migrations: wrangler d1 migrations apply.`);
  }
  const [now, lastRunAt, pauses] = await Promise.all([
    readNow(context),
    readHeartbeat(db),
    readPauses(db, databaseTime()),
  ]);
  const faults: string[] = [];
  if (lastRunAt === null) faults.push("The poller has never run.");
  else if (now - lastRunAt > POLLER_SILENT_AFTER_MS) {
    faults.push(`The poller has not run for ${Math.floor((now - lastRunAt) / MINUTE_MS)} minutes.`);
  }
  for (const { scope, reason } of pauses) {
    if (reason === "configuration")
      faults.push(`Dispatching of ${scope} is stopped: Workers AI refuses the account or the model. See /v1/stats.`);
  }
  return faults.length === 0 ? ok(HEALTHY) : notReady(faults.join(" "));
}

function notReady(detail: string): Result<never, Problem> {
  return err({ name: "unavailable", detail, headers: { "retry-after": "60" } });
}
