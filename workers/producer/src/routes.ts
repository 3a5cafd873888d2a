import { listResults } from "./handlers/list-results.ts";
import { pushDocuments } from "./handlers/push-documents.ts";
import { readFeed } from "./handlers/read-feed.ts";
import { noQuery } from "./http/query.ts";
import { documentsResponse, jsonTextResponse, NDJSON_TYPES } from "./http/respond.ts";
import { operatingRoutes } from "./operating-routes.ts";
import { answerWith, BODY_PROBLEMS, route, type Route } from "./route.ts";
import { pushQuerySchema } from "./push/options.ts";
import * as answers from "./shapes/answers.ts";
import { documentOutSchema } from "./shapes/document.ts";
import { acceptedSchema } from "./shapes/push.ts";
import { submissionSchema } from "./shapes/submission.ts";
import { cancelSubmission } from "./verbs/cancel-submission.ts";
import { deleteDocument } from "./verbs/delete-document.ts";
import { documentQuery, getDocument } from "./verbs/get-document.ts";
import { documentsQuery, getDocuments } from "./verbs/get-documents.ts";
import { getSubmission } from "./verbs/get-submission.ts";
import { resultsQuery } from "./verbs/list-results.ts";
import { listSubmissions, submissionsQuery } from "./verbs/list-submissions.ts";
import { feedQuery } from "./verbs/read-feed.ts";
import { retryQuery, retrySubmission } from "./verbs/retry-submission.ts";

export type { Route } from "./route.ts";

const PUSH_PROBLEMS = ["empty-body", "conflict", "idempotency-key-reused", "nothing-acceptable"] as const;

/** Every route that wants a key. */
export const routes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/documents",
    scope: "ingest",
    handle: pushDocuments,
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
  route({
    method: "GET",
    path: "/v1/submissions",
    scope: "read",
    handle: answerWith(listSubmissions),
    id: "listSubmissions",
    summary: "List submissions, the newest first",
    query: submissionsQuery,
    answer: answers.submissionPageSchema,
    problems: [],
  }),
  route({
    method: "GET",
    path: "/v1/submissions/:id",
    scope: "read",
    handle: answerWith(getSubmission),
    id: "getSubmission",
    summary: "Look at a submission",
    query: noQuery,
    answer: submissionSchema,
    problems: ["not-found"],
  }),
  route({
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
  }),
  route({
    method: "POST",
    path: "/v1/submissions/:id/cancel",
    scope: "ingest",
    handle: answerWith(cancelSubmission),
    id: "cancelSubmission",
    summary: "Cancel what is not dispatched yet",
    notes:
      "What is dispatched finishes. What is still in the Queue is `canceled` when it arrives, or fails as `message_lost` " +
      "once its message can no longer arrive (8.5 days on Cloudflare; locally, the next start); `counts` and `failures` " +
      "say which. A retry that is in progress ends, and what it has not queued stays failed. Repeated, or after the end " +
      "without a retry, it changes nothing.",
    query: noQuery,
    answer: submissionSchema,
    problems: ["not-found"],
  }),
  route({
    method: "POST",
    path: "/v1/submissions/:id/retry",
    scope: "ingest",
    handle: answerWith(retrySubmission),
    id: "retrySubmission",
    summary: "Queue failed documents again",
    notes:
      "They keep their version, and are `processing` again. One request queues some thousand documents; the poller queues " +
      "the others within minutes. Until then the submission is `processing`, and its `retry` says how far it is. Requested " +
      "again meanwhile, it goes on as it is; a retry of every code includes those of one. What failed as `message_lost` was never recorded and cannot be queued again: `lost` counts it. " +
      "A submission that was canceled is answered 409.",
    query: retryQuery,
    answer: answers.retriedSchema,
    problems: ["not-found", "conflict"],
  }),
  route({
    method: "GET",
    path: "/v1/collections/:collection/documents",
    scope: "read",
    handle: answerWith(getDocuments, documentsResponse),
    id: "getDocuments",
    summary: "Read up to 100 documents by their ids, in the order asked",
    notes:
      "Cloudflare takes URLs of up to 16 KB; the runtime answers a longer one with 414 and no problem, since the request " +
      "never reaches Sluice. Long ids do not fit a hundred at a time: ask for fewer at once.",
    query: documentsQuery,
    answer: answers.documentListSchema,
    problems: [],
  }),
  route({
    method: "GET",
    path: "/v1/collections/:collection/documents/:id",
    scope: "read",
    handle: answerWith(getDocument, jsonTextResponse),
    id: "getDocument",
    summary: "Read a document, best context first",
    query: documentQuery,
    answer: documentOutSchema,
    problems: ["not-found"],
    passing: ["not-found"],
  }),
  route({
    method: "DELETE",
    path: "/v1/collections/:collection/documents/:id",
    scope: "ingest",
    handle: answerWith(deleteDocument),
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
  }),
  route({
    method: "GET",
    path: "/v1/results",
    scope: "read",
    handle: readFeed,
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
  }),
  ...operatingRoutes,
];

export const NDJSON = NDJSON_TYPES[0];
