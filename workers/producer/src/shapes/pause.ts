import { modelNames, pauseReasons, textFlaw } from "@sluice/core";
import type { Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import * as z from "zod";
import { time, timeSchema } from "./time.ts";

/** A stop of dispatching that is in force. */
export const pauseSchema = z.strictObject({
  scope: z.string().describe("`all`, `model:NAME` or `submission:ID`."),
  reason: z
    .enum(pauseReasons)
    .describe(
      "`requested`: someone paused it. `daily_limit`: the account's daily allowance is used up. `configuration`: Workers AI " +
        "refuses the account or the model. The list is closed.",
    ),
  message: z.string().nullable().describe("The reason that the caller gave, or the message of Workers AI."),
  since: timeSchema,
  until: timeSchema.nullable().describe("Null: until someone resumes it."),
});
export type PauseShape = z.infer<typeof pauseSchema>;

export function pauseShape({ scope, reason, message, since, until }: Pause): PauseShape {
  return { scope, reason, message, since: time(since), until: time(until) };
}

const MAX_REASON = 500;

const target = {
  model: z.enum(modelNames, { error: `model must be one of: ${modelNames.join(", ")}` }).optional(),
  submission: z.string({ error: "submission must be a submission's id" }).optional(),
};
const reason = z
  .string({ error: "reason must be a string" })
  .max(MAX_REASON, `reason must have at most ${MAX_REASON} characters`)
  .refine((text) => textFlaw(text) === null, "reason must be well-formed Unicode without NUL");
const error = (fields: string) =>
  `the body must be an object { ${fields} }: neither a model nor a submission means everything`;

/** What to stop: everything (an empty object, or no body), a model, or a submission. */
export const pauseBody = z.strictObject(
  { ...target, reason: reason.optional() },
  { error: error("model?, submission?, reason?") },
);
/** What to resume. */
export const resumeBody = z.strictObject(target, { error: error("model?, submission?") });
