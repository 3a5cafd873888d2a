import { continueRetry } from "./continue-retry.ts";
import { listRetries } from "./sql/request-retry.ts";
import type { Context } from "../platform/context.ts";

/** Retries that one run looks at. */
const MAX_RETRIES = 20;
/** Steps of all of them together: 12 statements and up to 5,000 documents each, or one larger job's. */
const MAX_STEPS = 15;
/** 12 a step, three to begin and end a retry, and the list of them. */
export const RETRIES_STATEMENTS = 12 * MAX_STEPS + 3 * MAX_RETRIES + 1;

/**
 * Continues the retries that have not finished, the oldest first. What they queue is due at once. At most
 * `RETRIES_STATEMENTS` statements; one if there is no retry.
 */
export async function continueRetries(context: Context): Promise<void> {
  let left = MAX_STEPS;
  for (const retry of await listRetries(context.db, MAX_RETRIES)) {
    if (left <= 0) return;
    const { queued, steps, isThrough } = await continueRetry(context, retry, left);
    left -= steps;
    context.log({
      event: "retry_continued",
      submission: retry.submission,
      code: retry.code,
      queued,
      through: isThrough,
    });
  }
}
