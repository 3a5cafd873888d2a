import type { Fields } from "./values.ts";

/**
 * `queued` and `running` are documented. The status of a failed or expired batch is not, so every usual word for it
 * counts.
 */
const STATUS_WORDS: ReadonlyMap<string, BatchStatus> = new Map([
  ["queued", "queued"],
  ["pending", "queued"],
  ["running", "running"],
  ["processing", "running"],
  ["in_progress", "running"],
  ["failed", "failed"],
  ["failure", "failed"],
  ["error", "failed"],
  ["errored", "failed"],
  ["rejected", "failed"],
  ["aborted", "failed"],
  ["timeout", "failed"],
  ["timed_out", "failed"],
  ["expired", "gone"],
  ["canceled", "gone"],
  ["cancelled", "gone"],
  ["not_found", "gone"],
]);

type BatchStatus = "queued" | "running" | "failed" | "gone";

/** The batch's status in an answer; `null` if there is none, or an unknown one. */
export function statusOf(answer: Fields): BatchStatus | null {
  const status = answer["status"];
  return typeof status === "string" ? (STATUS_WORDS.get(status.toLowerCase()) ?? null) : null;
}

/** Whether an answer says that the batch, or the call, failed. The HTTP status may still be 200. */
export function hasFailed(answer: Fields): boolean {
  const status = statusOf(answer);
  return answer["success"] === false || status === "failed" || status === "gone";
}
