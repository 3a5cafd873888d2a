import { OPEN_METRICS_TYPE } from "./http/open-metrics.ts";
import { noQuery } from "./http/query.ts";
import { emptyResponse } from "./http/respond.ts";
import { answerWith, BODY_PROBLEMS, route, type Route } from "./route.ts";
import * as answers from "./shapes/answers.ts";
import { jobSchema } from "./shapes/job.ts";
import { pauseBody, resumeBody } from "./shapes/pause.ts";
import { metricsResponse, metricsSchema } from "./shapes/metrics.ts";
import { statsSchema } from "./shapes/stats.ts";
import { discardMalformed } from "./verbs/discard-malformed.ts";
import { getJob } from "./verbs/get-job.ts";
import { getMetrics } from "./verbs/get-metrics.ts";
import { getStats } from "./verbs/get-stats.ts";
import { jobsQuery, listJobs } from "./verbs/list-jobs.ts";
import { listMalformed, malformedQuery } from "./verbs/list-malformed.ts";
import { pause } from "./verbs/pause.ts";
import { replayMalformed } from "./verbs/replay-malformed.ts";
import { resume } from "./verbs/resume.ts";

const PAUSE_LIMIT = { maxBytes: 10_000, instead: "it has a model or a submission, and a reason" };

/** The routes for operators: jobs, pauses, statistics and quarantined messages. */
export const operatingRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/v1/jobs",
    scope: "read",
    handle: answerWith(listJobs),
    id: "listJobs",
    summary: "List jobs, newest first",
    query: jobsQuery,
    answer: answers.jobPageSchema,
    problems: [],
  }),
  route({
    method: "GET",
    path: "/v1/jobs/:id",
    scope: "read",
    handle: answerWith(getJob),
    id: "getJob",
    summary: "Get a job with its attempts",
    query: noQuery,
    answer: jobSchema,
    problems: ["not-found"],
  }),
  route({
    method: "POST",
    path: "/v1/pause",
    scope: "admin",
    handle: answerWith(pause),
    id: "pause",
    summary: "Stop dispatching: everything, a model or a submission",
    notes:
      "Without a body, everything. Batches that Workers AI has already are still polled and finalized. A pause in force " +
      "keeps its `since`, and its `message` unless a new `reason` is given.",
    query: noQuery,
    body: { schema: pauseBody, required: false, ...PAUSE_LIMIT },
    answer: answers.pauseListSchema,
    problems: ["not-found", ...BODY_PROBLEMS],
  }),
  route({
    method: "POST",
    path: "/v1/resume",
    scope: "admin",
    handle: answerWith(resume),
    id: "resume",
    summary: "Resume dispatching: everything, a model or a submission",
    query: noQuery,
    body: { schema: resumeBody, required: false, ...PAUSE_LIMIT },
    answer: answers.resumedSchema,
    problems: ["not-found", ...BODY_PROBLEMS],
  }),
  route({
    method: "GET",
    path: "/v1/stats",
    scope: "read",
    handle: answerWith(getStats),
    id: "getStats",
    summary: "Get counts, backlog, throughput, failures and pauses",
    query: noQuery,
    answer: statsSchema,
    problems: [],
  }),
  route({
    method: "GET",
    path: "/metrics",
    scope: "admin",
    handle: answerWith(getMetrics, metricsResponse),
    id: "getMetrics",
    summary: "Get metrics in the OpenMetrics format, for Prometheus",
    notes:
      "For keys of all collections. It reads counters and a bounded number of open and recent submissions and jobs, so " +
      "that it may be scraped every minute. `workers/prometheus.yml` and `workers/alerts.yml` in the repository are " +
      "examples for Prometheus.",
    query: noQuery,
    type: OPEN_METRICS_TYPE,
    answer: metricsSchema,
    problems: [],
  }),
  route({
    method: "GET",
    path: "/v1/malformed",
    scope: "admin",
    handle: answerWith(listMalformed),
    id: "listMalformed",
    summary: "List quarantined messages, without their text",
    notes: "Sorted by queue, not by time. They could not be read or recorded: replay them once the cause is fixed.",
    query: malformedQuery,
    answer: answers.malformedPageSchema,
    problems: [],
  }),
  route({
    method: "POST",
    path: "/v1/malformed/:id/replay",
    scope: "admin",
    handle: answerWith(replayMalformed),
    id: "replayMalformed",
    summary: "Send a quarantined message to its queue again",
    notes:
      "It leaves the quarantine once the queue has it. Replaying a message twice records its documents once. A message " +
      "that still cannot be read comes back as a new one with another id and `received_at`: the queue keeps only its " +
      "body. A message that no queue takes is answered 409; discard it.",
    query: noQuery,
    answer: answers.replayedSchema,
    problems: ["not-found", "conflict"],
  }),
  route({
    method: "DELETE",
    path: "/v1/malformed/:id",
    scope: "admin",
    handle: answerWith(discardMalformed, emptyResponse),
    id: "discardMalformed",
    summary: "Discard a quarantined message",
    notes:
      "Its text is deleted. Its documents that are not recorded stay missing in their submission until they fail as " +
      "`message_lost`: push them again.",
    query: noQuery,
    status: 204,
    answer: null,
    problems: ["not-found"],
  }),
];
