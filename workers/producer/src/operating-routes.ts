import { getStats } from "./handlers/get-stats.ts";
import { noQuery } from "./handlers/get-submission.ts";
import { getJob, jobsQuery, listJobs } from "./handlers/list-jobs.ts";
import { discardMalformed, listMalformed, malformedQuery, replayMalformed } from "./handlers/malformed.ts";
import { pause, pauseBody, resume, resumeBody } from "./handlers/pause.ts";
import { BODY_PROBLEMS, type Route } from "./route.ts";
import * as answers from "./shapes/answers.ts";
import { jobSchema } from "./shapes/job.ts";
import { statsSchema } from "./shapes/stats.ts";

/** The routes for people who operate Sluice: jobs, pauses, the state of the whole, and quarantined messages. */
export const operatingRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/jobs",
    scope: "read",
    handle: listJobs,
    id: "listJobs",
    summary: "List jobs, the newest first",
    query: jobsQuery,
    answer: answers.jobPageSchema,
    problems: [],
  },
  {
    method: "GET",
    path: "/v1/jobs/:id",
    scope: "read",
    handle: getJob,
    id: "getJob",
    summary: "Look at a job and its attempts",
    query: noQuery,
    answer: jobSchema,
    problems: ["not-found"],
  },
  {
    method: "POST",
    path: "/v1/pause",
    scope: "admin",
    handle: pause,
    id: "pause",
    summary: "Stop dispatching: everything, a model or a submission",
    notes:
      "No body is everything. What Workers AI has already is polled and finalized all the same. A pause that is in force " +
      "keeps its `since`, and its `message` unless a new `reason` is given.",
    query: noQuery,
    body: { schema: pauseBody, required: false },
    answer: answers.pauseListSchema,
    problems: ["not-found", ...BODY_PROBLEMS],
  },
  {
    method: "POST",
    path: "/v1/resume",
    scope: "admin",
    handle: resume,
    id: "resume",
    summary: "Go on with what was paused",
    query: noQuery,
    body: { schema: resumeBody, required: false },
    answer: answers.resumedSchema,
    problems: ["not-found", ...BODY_PROBLEMS],
  },
  {
    method: "GET",
    path: "/v1/stats",
    scope: "read",
    handle: getStats,
    id: "getStats",
    summary: "The state of the whole",
    query: noQuery,
    answer: statsSchema,
    problems: [],
  },
  {
    method: "GET",
    path: "/v1/malformed",
    scope: "admin",
    handle: listMalformed,
    id: "listMalformed",
    summary: "List quarantined messages, without their text",
    notes: "By queue, not by time. They could not be read or recorded: replay them once the cause is gone.",
    query: malformedQuery,
    answer: answers.malformedPageSchema,
    problems: [],
  },
  {
    method: "POST",
    path: "/v1/malformed/:id/replay",
    scope: "admin",
    handle: replayMalformed,
    id: "replayMalformed",
    summary: "Send a quarantined message to its queue again",
    notes:
      "It leaves the quarantine once the queue has it. Replaying a message twice records its documents once. One that " +
      "still cannot be read comes back as a new message, with an id and a `received_at` of its own: the queue keeps " +
      "nothing but its body. One that no queue takes is answered 409; discard it.",
    query: noQuery,
    answer: answers.replayedSchema,
    problems: ["not-found", "conflict"],
  },
  {
    method: "DELETE",
    path: "/v1/malformed/:id",
    scope: "admin",
    handle: discardMalformed,
    id: "discardMalformed",
    summary: "Discard a quarantined message",
    notes:
      "Its text is gone. Documents in it that are not recorded stay missing in their submission until they are given up " +
      "as `message_lost`: push them again.",
    query: noQuery,
    status: 204,
    answer: null,
    problems: ["not-found"],
  },
];
