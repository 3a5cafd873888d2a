import { pauseReasons } from "@sluice/core";
import type { Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import * as z from "zod";
import { time, timeSchema } from "./time.ts";

/** A stop of dispatching that is in force. */
export const pauseSchema = z.strictObject({
  scope: z.string().describe("`all`, `model:NAME` or `submission:ID`."),
  reason: z
    .enum(pauseReasons)
    .describe(
      "`requested`: by someone. `daily_limit`: the account's allowance is used up. `configuration`: the account or the model " +
        "is at fault. The list is closed.",
    ),
  message: z.string().nullable().describe("The caller's reason, or the service's words."),
  since: timeSchema,
  until: timeSchema.nullable().describe("Null: until someone resumes it."),
});
export type PauseShape = z.infer<typeof pauseSchema>;

export function pauseShape({ scope, reason, message, since, until }: Pause): PauseShape {
  return { scope, reason, message, since: time(since), until: time(until) };
}
