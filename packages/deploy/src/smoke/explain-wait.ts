import type { Submission, WaitingReason } from "@sluice/client/library";

const REASONS: Readonly<Record<WaitingReason, string>> = {
  push: "The push was interrupted. Run smoke again.",
  queue:
    "No consumer reads the queue. Run deploy:cloudflare again, which attaches it, and look at the consumer's logs: " +
    "wrangler tail sluice-consumer.",
  dispatch: "No batch was sent. Look at the poller's cron trigger and logs: wrangler tail sluice-poller.",
  answer:
    "Workers AI has the batch and has not answered. It promises no time. Run smoke again later; if the poller runs, " +
    "nothing is wrong here.",
  retry: "Workers AI is temporarily unavailable, and Sluice retries. Look at Cloudflare's status page.",
  paused: "Everything is paused: sluice resume.",
  paused_model: "The model is paused: sluice resume --model @cf/baai/bge-m3.",
  paused_submission: "The submission is paused: sluice resume --submission ID.",
  daily_limit: "The account's daily allowance of Workers AI is used up. Dispatching resumes at 00:00 UTC.",
  configuration: "Workers AI refuses the account or the model. /readyz and the poller's logs have its message.",
};

/** Says what to look at if a submission has not ended in time. */
export function explainWait({ id, lane, counts, waiting, stalled }: Submission): string {
  const open = counts.queued + counts.processing;
  const what = `${id} (lane ${lane}): ${open} of ${counts.total} documents have not ended.`;
  if (stalled !== null) return `${what} ${stalled.missing} were sent and never recorded. ${REASONS.queue}`;
  if (waiting === null) return `${what} sluice why ${id} tells what it waits for.`;
  // A newer server may have more reasons.
  const reason = (REASONS as Readonly<Record<string, string | undefined>>)[waiting.reason];
  return `${what} ${reason ?? `It waits for: ${waiting.reason}.`}`;
}
