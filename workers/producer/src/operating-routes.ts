import { noQuery } from "./http/query.ts";
import { emptyResponse } from "./http/respond.ts";
import { answerWith, BODY_PROBLEMS, route, type Route } from "./route.ts";
import * as answers from "./shapes/answers.ts";
import { jobSchema } from "./shapes/job.ts";
import { pauseBody, resumeBody } from "./shapes/pause.ts";
import { statsSchema } from "./shapes/stats.ts";
import { discardMalformed } from "./verbs/discard-malformed.ts";
import { getJob } from "./verbs/get-job.ts";
import { getStats } from "./verbs/get-stats.ts";
import { jobsQuery, listJobs } from "./verbs/list-jobs.ts";
import { listMalformed, malformedQuery } from "./verbs/list-malformed.ts";
import { pause } from "./verbs/pause.ts";
import { replayMalformed } from "./verbs/replay-malformed.ts";
import { resume } from "./verbs/resume.ts";

const PAUSE_LIMIT = { maxBytes: 10_000, instead: "it holds a model or a submission, and a reason" };

/** The routes for people who operate Sluice: jobs, pauses, the state of the whole, and quarantined messages. */
export const operatingRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/v1/jobs",
    scope: "read",
    handle: answerWith(listJobs),
    id: "listJobs",
    summary: "List jobs, the newest first",
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
    summary: "Look at a job and its attempts",
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
      "No body is everything. What Workers AI has already is polled and finalized all the same. A pause that is in force " +
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
    summary: "Go on with what was paused",
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
    summary: "The state of the whole",
    query: noQuery,
    answer: statsSchema,
    problems: [],
  }),
  route({
    method: "GET",
    path: "/v1/malformed",
    scope: "admin",
    handle: answerWith(listMalformed),
    id: "listMalformed",
    summary: "List quarantined messages, without their text",
    notes: "By queue, not by time. They could not be read or recorded: replay them once the cause is gone.",
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
      "It leaves the quarantine once the queue has it. Replaying a message twice records its documents once. One that " +
      "still cannot be read comes back as a new message, with an id and a `received_at` of its own: the queue keeps " +
      "nothing but its body. One that no queue takes is answered 409; discard it.",
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
      "Its text is gone. Documents in it that are not recorded stay missing in their submission until they are given up " +
      "as `message_lost`: push them again.",
    query: noQuery,
    status: 204,
    answer: null,
    problems: ["not-found"],
  }),
];
