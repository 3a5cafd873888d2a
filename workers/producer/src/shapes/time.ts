import { waitingReasons, type WaitingFor } from "@sluice/pipeline/job/waiting.ts";
import * as z from "zod";

/** A time of D1, in milliseconds since the epoch, as RFC 3339. */
export function time(milliseconds: number): string;
export function time(milliseconds: number | null): string | null;
export function time(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}

export const timeSchema = z.iso.datetime();
export const count = z.int().min(0);

export const waitingSchema = z
  .strictObject({
    reason: z
      .enum(waitingReasons)
      .describe(
        "`push`: the rest of its push, which is running or was interrupted. The same Idempotency-Key resumes it; at " +
          "`until` it is closed as incomplete. `queue`: its message is in the Queue. `dispatch`: its turn. `answer`: Workers " +
          "AI has it. `retry`: the next try, after Workers AI refused it for now. `paused`, `paused_model`, " +
          "`paused_submission`: someone to resume everything, its model or its submission. `daily_limit`: 00:00 UTC, since " +
          "the account's daily allowance is used up. `configuration`: someone to fix the account or the model, which " +
          "Workers AI refuses. The list is closed.",
      ),
    until: timeSchema.nullable().describe("When Sluice looks next, or the pause ends; null if nobody knows."),
  })
  .describe("What it waits for; null for nothing.");
export type Waiting = z.infer<typeof waitingSchema>;

export function waitingShape(waiting: WaitingFor | null): Waiting | null {
  return waiting === null ? null : { reason: waiting.reason, until: time(waiting.until) };
}
