import { findMissingTables } from "@sluice/db";
import { readHeartbeat } from "@sluice/pipeline/platform/sql/heartbeat.ts";
import { readPauses } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import * as z from "zod";
import { readNow, type Reader } from "../context.ts";
import { problemResponse } from "../http/problems.ts";
import { jsonResponse } from "../http/respond.ts";

export const healthSchema = z.strictObject({ status: z.literal("ok") });

export function healthz(): Response {
  return jsonResponse({ status: "ok" });
}

const MINUTE = 60_000;
const POLLER_SILENT_AFTER_MS = 5 * MINUTE;

/**
 * Whether what is pushed is scored: every table is there, the poller runs, and no model is stopped since Workers AI
 * refuses the account or the model. What someone paused, and the daily limit, are no faults.
 */
export async function readyz(reader: Reader): Promise<Response> {
  const { db, databaseTime } = reader;
  const missing = await findMissingTables(db);
  if (missing.length > 0) {
    return notReady(`The database lacks ${missing.join(", ")}. Apply the migrations: wrangler d1 migrations apply.`);
  }
  const [now, lastRunAt, pauses] = await Promise.all([
    readNow(reader),
    readHeartbeat(db),
    readPauses(db, databaseTime()),
  ]);
  const faults: string[] = [];
  if (lastRunAt === null) faults.push("The poller has never run.");
  else if (now - lastRunAt > POLLER_SILENT_AFTER_MS) {
    faults.push(`The poller has not run for ${Math.floor((now - lastRunAt) / MINUTE)} minutes.`);
  }
  for (const { scope, reason } of pauses) {
    if (reason === "configuration")
      faults.push(
        `Dispatching of ${scope} is stopped: Workers AI refuses the account or the model. /v1/stats tells more.`,
      );
  }
  if (faults.length === 0) return jsonResponse({ status: "ok" });
  return notReady(faults.join(" "));
}

function notReady(detail: string): Response {
  return problemResponse({ name: "unavailable", detail, headers: { "retry-after": "60" } });
}
