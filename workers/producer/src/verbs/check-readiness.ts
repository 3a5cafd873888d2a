import { err, ok, type Result } from "@sluice/core";
import { findMissingTables } from "@sluice/db";
import { POLLER_SILENT_AFTER_MS } from "@sluice/pipeline/platform/alert-rules.ts";
import { readHeartbeat } from "@sluice/pipeline/platform/sql/heartbeat.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import {
  hasRetentionPassed,
  readDatabaseSize,
  type DatabaseSize,
} from "@sluice/pipeline/platform/sql/database-size.ts";
import { readNow, type Reader } from "../context.ts";
import type { Problem } from "../http/problems.ts";
import { databaseShape } from "../shapes/database.ts";
import type { ReadinessShape } from "../shapes/health.ts";

const MINUTE_MS = 60_000;

/**
 * Whether pushed documents get scored: every table exists, the poller runs, the database is not full, and no model is
 * stopped because Workers AI refuses the account or the model. Requested pauses and the daily limit are not faults.
 */
export async function checkReadiness(context: Reader): Promise<Result<ReadinessShape, Problem>> {
  const { db, databaseTime } = context;
  const missing = await findMissingTables(db);
  if (missing.length > 0) {
    return notReady(`The database lacks ${missing.join(", ")}. Apply the migrations: wrangler d1 migrations apply.`);
  }
  const [now, lastRunAt, pauses, size] = await Promise.all([
    readNow(context),
    readHeartbeat(db),
    readPauses(db, databaseTime()),
    readDatabaseSize(db, databaseTime()),
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
  if (size?.level === "full") faults.push(whyFull(size, await hasRetentionPassed(db, size.since)));
  return faults.length === 0 ? ok({ status: "ok", database: databaseShape(size) }) : notReady(faults.join(" "));
}

/** `isLasting`: retention has deleted everything that may go, so only scores that are kept remain. */
function whyFull({ bytes, limit }: DatabaseSize, isLasting: boolean): string {
  const share = Math.round((100 * bytes) / limit);
  const full = `The database is full: ${share} % of MAX_DATABASE_BYTES. New pushes are refused until it is below 90 %.`;
  return isLasting
    ? `${full} This does not resolve itself: only scores that are kept remain. Set or lower RETAIN_SCORES_DAYS of the poller.`
    : full;
}

function notReady(detail: string): Result<never, Problem> {
  return err({ name: "unavailable", detail, headers: { "retry-after": "60" } });
}
