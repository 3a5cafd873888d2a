import { cancelSubmission } from "./handlers/cancel-submission.ts";
import { deleteDocument } from "./handlers/delete-document.ts";
import { documentQuery, getDocument } from "./handlers/get-document.ts";
import { documentsQuery, getDocuments } from "./handlers/get-documents.ts";
import { getStats } from "./handlers/get-stats.ts";
import { getSubmission, noQuery } from "./handlers/get-submission.ts";
import { getJob, jobsQuery, listJobs } from "./handlers/list-jobs.ts";
import { listResults, resultsQuery } from "./handlers/list-results.ts";
import { listSubmissions, submissionsQuery } from "./handlers/list-submissions.ts";
import { listMalformed, malformedQuery, replayMalformed } from "./handlers/malformed.ts";
import { pause, pauseBody, resume, resumeBody } from "./handlers/pause.ts";
import { postDocuments } from "./handlers/post-documents.ts";
import { feedQuery, readResults } from "./handlers/read-results.ts";
import { retryQuery, retrySubmission } from "./handlers/retry-submission.ts";
import { NDJSON_TYPES } from "./http/respond.ts";
import type { Route } from "./route.ts";
import { pushQuerySchema } from "./push/options.ts";
import * as answers from "./shapes/answers.ts";
import { documentOutSchema } from "./shapes/document.ts";
import { jobSchema } from "./shapes/job.ts";
import { acceptedSchema } from "./shapes/push.ts";
import { statsSchema } from "./shapes/stats.ts";
import { submissionSchema } from "./shapes/submission.ts";

export type { Route } from "./route.ts";

const BODY_PROBLEMS = ["not-json", "not-utf8", "broken-body", "body-too-large", "unsupported-media-type"] as const;
const PUSH_PROBLEMS = ["empty-body", "conflict", "idempotency-key-reused", "nothing-acceptable"] as const;

/** Every route that wants a key. */
export const routes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/documents",
    scope: "ingest",
    handle: postDocuments,
    id: "pushDocuments",
    summary: "Push documents: one, many in an object, or as NDJSON a document a line",
    query: pushQuerySchema,
    body: { schema: answers.pushBodySchema, required: true, ndjson: answers.documentInSchema },
    headers: ["Idempotency-Key", "Content-Encoding"],
    status: 202,
    answer: acceptedSchema,
    answerHeaders: ["Location", "Idempotency-Replayed", "Idempotency-Resumed"],
    problems: [...BODY_PROBLEMS, ...PUSH_PROBLEMS],
    passing: ["conflict"],
  },
  {
    method: "GET",
    path: "/v1/submissions",
    scope: "read",
    handle: listSubmissions,
    id: "listSubmissions",
    summary: "List submissions, the newest first",
    query: submissionsQuery,
    answer: answers.submissionPageSchema,
    problems: [],
  },
  {
    method: "GET",
    path: "/v1/submissions/:id",
    scope: "read",
    handle: getSubmission,
    id: "getSubmission",
    summary: "Look at a submission",
    query: noQuery,
    answer: submissionSchema,
    problems: ["not-found"],
  },
  {
    method: "GET",
    path: "/v1/submissions/:id/results",
    scope: "read",
    handle: listResults,
    id: "listResults",
    summary: "Read a submission's recorded documents: pages, or all of them as NDJSON",
    notes:
      "What is `queued` is in the Queue, and not among them, nor is what was deleted. As NDJSON without `limit` all of them " +
      "are streamed: should that break off, `after` with the id of the last line goes on behind it. With `limit` it is a " +
      "page, whose `Link` leads on.",
    query: resultsQuery,
    answer: answers.documentPageSchema,
    answerHeaders: ["Link"],
    line: documentOutSchema,
    problems: ["not-found"],
  },
  {
    method: "POST",
    path: "/v1/submissions/:id/cancel",
    scope: "ingest",
    handle: cancelSubmission,
    id: "cancelSubmission",
    summary: "Cancel what is not dispatched yet",
    notes: "What is dispatched finishes. Repeated, or after the end, it changes nothing.",
    query: noQuery,
    answer: submissionSchema,
    problems: ["not-found"],
  },
  {
    method: "POST",
    path: "/v1/submissions/:id/retry",
    scope: "ingest",
    handle: retrySubmission,
    id: "retrySubmission",
    summary: "Queue failed documents again",
    notes:
      "They keep their version, and are `processing` again. One request queues up to some 60 jobs: where more failed, ask " +
      "until `queued` is 0. A submission that was canceled is answered 409.",
    query: retryQuery,
    answer: answers.retriedSchema,
    problems: ["not-found", "conflict"],
  },
  {
    method: "GET",
    path: "/v1/collections/:collection/documents",
    scope: "read",
    handle: getDocuments,
    id: "getDocuments",
    summary: "Read up to 100 documents by their ids, in the order asked",
    query: documentsQuery,
    answer: answers.documentListSchema,
    problems: [],
  },
  {
    method: "GET",
    path: "/v1/collections/:collection/documents/:id",
    scope: "read",
    handle: getDocument,
    id: "getDocument",
    summary: "Read a document, best context first",
    query: documentQuery,
    answer: documentOutSchema,
    problems: ["not-found"],
    passing: ["not-found"],
  },
  {
    method: "DELETE",
    path: "/v1/collections/:collection/documents/:id",
    scope: "ingest",
    handle: deleteDocument,
    id: "deleteDocument",
    summary: "Forget all versions of a document",
    notes:
      "Inputs and scores are gone. This is about the versions that are recorded: one that is in the Queue still comes, so " +
      "cancel its submission, or delete again once it is there. A version that had not ended counts as `canceled` in its submission, without being among " +
      "its results, and an answer that comes for it is dropped.",
    query: noQuery,
    answer: answers.deletedSchema,
    problems: ["not-found"],
    passing: ["not-found"],
  },
  {
    method: "GET",
    path: "/v1/results",
    scope: "read",
    handle: readResults,
    id: "readFeed",
    summary: "Follow documents as they end, across submissions, each at least once",
    notes:
      "In the order of their jobs' ends. `next_cursor` is never null: there may be more later. What is canceled ends without " +
      "a job, and is not in it, as what was deleted is not.",
    query: feedQuery,
    answer: answers.documentPageSchema,
    answerHeaders: ["Link"],
    line: documentOutSchema,
    problems: [],
  },
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
    notes: "No body is everything. What Workers AI has already is polled and finalized all the same.",
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
    answer: answers.pauseListSchema,
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
    notes: "It leaves the quarantine once the queue has it. Replaying a message twice records its documents once.",
    query: noQuery,
    answer: answers.replayedSchema,
    problems: ["not-found", "conflict"],
  },
];

export const NDJSON = NDJSON_TYPES[0];
