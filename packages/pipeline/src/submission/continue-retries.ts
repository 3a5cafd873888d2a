import { continueRetry } from "./continue-retry.ts";
import { listRetries } from "./sql/request-retry.ts";
import type { Context } from "../platform/context.ts";

/** Maximum retries that one run processes. */
const MAX_RETRIES = 20;
/**
 * Maximum steps of all of them together: 12 statements and up to 5,000 documents each, or the documents of one larger
 * job.
 */
const MAX_STEPS = 15;
/** 12 per step, three to begin and end a retry, and one to list them. */
export const RETRIES_STATEMENTS = 12 * MAX_STEPS + 3 * MAX_RETRIES + 1;

/**
 * Continues unfinished retries, the oldest first. The jobs that they queue are due now. Sends at most
 * `RETRIES_STATEMENTS` statements, and one if there is no retry.
 */
export async function continueRetries(context: Context): Promise<void> {
  let left = MAX_STEPS;
  for (const retry of await listRetries(context.db, MAX_RETRIES)) {
    if (left <= 0) return;
    const { queued, steps, isComplete } = await continueRetry(context, retry, left);
    left -= steps;
    context.log({
      event: "retry_continued",
      submission: retry.submission,
      code: retry.code,
      queued,
      through: isComplete,
    });
  }
}
