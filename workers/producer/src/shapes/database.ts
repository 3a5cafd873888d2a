import { databaseLevels } from "@sluice/core";
import type { DatabaseSize } from "@sluice/pipeline/platform/sql/database-size.ts";
import * as z from "zod";
import { count, time, timeSchema } from "./time.ts";

/** The size of the database, from the level `high` on. */
export const databaseSchema = z
  .strictObject({
    level: z
      .enum(databaseLevels.filter((level) => level !== "normal"))
      .describe("`high` from 70 % of `limit_bytes`, `pressure` from 85 %, `full` from 95 % until below 90 %."),
    bytes: count,
    limit_bytes: count.describe("`MAX_DATABASE_BYTES` of the poller."),
    since: timeSchema.describe("When it reached this level."),
  })
  .nullable()
  .describe("How full the database is; null below 70 %. At `full`, new pushes are refused with `database-full`.");
export type DatabaseShape = z.infer<typeof databaseSchema>;

export function databaseShape(size: DatabaseSize | null): DatabaseShape {
  if (size === null || size.level === "normal") return null;
  return { level: size.level, bytes: size.bytes, limit_bytes: size.limit, since: time(size.since) };
}
