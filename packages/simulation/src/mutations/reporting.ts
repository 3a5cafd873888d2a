import { mutation, type Mutation } from "./mutation.ts";

const NAMED = "request_id IN (SELECT value FROM json_each(${JSON.stringify(requestIds)}))";

/** Events that Workers AI sends about batches. */
export const REPORTING: readonly Mutation[] = [
  mutation(
    "event-ignored",
    "an event is acknowledged, but its batch waits for a poller run",
    "consumeEvents",
    "ended.push({ message, requestId: event.requestId });",
    'decisions.set(message.id, { kind: "ack" });',
  ),
  mutation(
    "early-event-dropped",
    "an event that arrives before its request_id is recorded is acknowledged",
    "UNKNOWN_RETRY_SECONDS",
    "= [2, 10] as const;",
    "= [] as readonly number[];",
  ),
  mutation(
    "unknown-event-forever",
    "an event of an unknown batch is retried as long as the queue delivers it",
    "afterUnknown",
    'return delaySeconds === undefined ? { kind: "ack" } : { kind: "retry", delaySeconds };',
    'return { kind: "retry", delaySeconds: delaySeconds ?? 10 };',
  ),
  mutation(
    "event-polls-all",
    "an event polls every batch in progress",
    "claimReportedJobs",
    NAMED,
    "request_id <> ${requestIds[0]}",
  ),
  {
    name: "event-of-older-dispatch",
    breaks: "an event of an older dispatch's batch finds the job",
    replacements: [
      { in: "claimReportedJobs", find: "UPDATE jobs INDEXED BY jobs_request", replace: "UPDATE jobs" },
      {
        in: "claimReportedJobs",
        find: NAMED,
        replace:
          "EXISTS (SELECT 1 FROM json_each(${JSON.stringify(requestIds)}) n CROSS JOIN json_each(dispatches) a ON a.value ->> 'request_id' = n.value)",
      },
    ],
  },
  {
    name: "event-of-ended-job",
    breaks: "a repeated event of a batch whose job has ended claims the job again",
    replacements: [
      { in: "claimReportedJobs", find: "UPDATE jobs INDEXED BY jobs_request", replace: "UPDATE jobs" },
      { in: "claimReportedJobs", find: "status = 'dispatched' AND ", replace: "" },
    ],
  },
  mutation(
    "alert-never-ends",
    "an alert stays raised after its cause is gone",
    "alertChanges",
    "ended: raised.filter(({ name }) => !current.some((one) => one.name === name)),",
    "ended: [],",
  ),
  mutation(
    "silence-unlogged",
    "a run that notices that the poller was silent does not log it",
    "workThrough",
    "if (started.silentSince !== null) logSilence(context, started.silentSince);",
    "",
  ),
  mutation(
    "silence-again",
    "a poller that is silent again while the alert is raised is logged as another alert",
    "noticeSilence",
    "ON CONFLICT DO NOTHING RETURNING since",
    "ON CONFLICT DO UPDATE SET since = excluded.since RETURNING since",
  ),
];
