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
        "`push`: the rest of its push, which is under way or broke off: the same Idempotency-Key goes on with it, and at " +
          "`until` it is closed as incomplete. `queue`: its message is in the Queue. `dispatch`: its turn has not come. `answer`: Workers AI has it. " +
          "`retry`: Workers AI turned it away for now. `paused`, `paused_model`, `paused_submission`: someone paused " +
          "dispatching of everything, of its model, or of its submission; a resumption of the same ends that. `daily_limit`: " +
          "the account's allowance is used up until 00:00 UTC. `configuration`: the account or the model is at fault, and " +
          "someone has to look. The list is closed.",
      ),
    until: timeSchema.nullable().describe("When it is looked at next, or the pause ends; null where nobody knows."),
  })
  .describe("What it waits for. Null: for nothing.");
export type Waiting = z.infer<typeof waitingSchema>;

export function waitingShape(waiting: WaitingFor | null): Waiting | null {
  return waiting === null ? null : { reason: waiting.reason, until: time(waiting.until) };
}
