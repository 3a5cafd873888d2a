import { listResults } from "./handlers/results-response.ts";
import { pushDocuments } from "./handlers/push-response.ts";
import { readFeed } from "./handlers/feed-response.ts";
import { noQuery } from "./http/query.ts";
import { acceptedResponse, documentsResponse, jsonTextResponse, NDJSON_TYPES } from "./http/respond.ts";
import { operatingRoutes } from "./operating-routes.ts";
import { answerWith, BODY_PROBLEMS, route, type Route } from "./route.ts";
import { pushQuerySchema } from "./push/options.ts";
import * as answers from "./shapes/answers.ts";
import { collectionSchema, deletionSchema } from "./shapes/collection.ts";
import { documentOutSchema } from "./shapes/document.ts";
import { acceptedSchema } from "./shapes/push.ts";
import { submissionSchema } from "./shapes/submission.ts";
import { cancelSubmission } from "./verbs/cancel-submission.ts";
import { deleteCollection } from "./verbs/delete-collection.ts";
import { deleteDocument } from "./verbs/delete-document.ts";
import { getCollection } from "./verbs/get-collection.ts";
import { documentQuery, getDocument } from "./verbs/get-document.ts";
import { documentsQuery, getDocuments } from "./verbs/get-documents.ts";
import { getSubmission } from "./verbs/get-submission.ts";
import { resultsQuery } from "./verbs/list-results.ts";
import { listSubmissions, submissionsQuery } from "./verbs/list-submissions.ts";
import { feedQuery } from "./verbs/read-feed.ts";
import { retryQuery, retrySubmission } from "./verbs/retry-submission.ts";

export type { Route } from "./route.ts";

const PUSH_PROBLEMS = [
  "empty-body",
  "conflict",
  "idempotency-key-reused",
  "nothing-acceptable",
  "database-full",
] as const;

/** Every route that needs a key. */
export const routes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/documents",
    scope: "ingest",
    handle: pushDocuments,
    id: "pushDocuments",
    summary: "Push documents: one, a list, or NDJSON with one document per line",
    query: pushQuerySchema,
    body: { schema: answers.pushBodySchema, required: true, ndjson: answers.documentInSchema },
    headers: ["Idempotency-Key", "Content-Encoding"],
    status: 202,
    answer: acceptedSchema,
    answerHeaders: ["Location", "Idempotency-Replayed", "Idempotency-Resumed"],
    problems: [...BODY_PROBLEMS, ...PUSH_PROBLEMS],
    transient: ["conflict"],
  },
  route({
    method: "GET",
    path: "/v1/submissions",
    scope: "read",
    handle: answerWith(listSubmissions),
    id: "listSubmissions",
    summary: "List submissions, newest first",
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
    summary: "Get a submission",
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
      "Queued documents are in the Queue and not listed; deleted ones are not listed either. As NDJSON without `limit`, " +
      "all documents are streamed: if the stream is interrupted, `after` with the id of the last line continues after " +
      "it. With `limit` it is a page, and `Link` leads to the next one.",
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
    summary: "Cancel documents that are not dispatched yet",
    notes:
      "Dispatched documents finish. Documents in the Queue are `canceled` when their message arrives, or fail as " +
      "`message_lost` once it can no longer arrive (8.5 days on Cloudflare; locally, at the next start); `counts` and " +
      "`failures` show which. A retry in progress ends, and documents that it has not queued stay failed. A second " +
      "cancel, or one after the end without a retry, changes nothing.",
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
      "They keep their version and are `processing` again. One request queues some thousand documents; the poller queues " +
      "the rest within minutes. Until then the submission is `processing`, and its `retry` shows the progress. Requested " +
      "again meanwhile, the same retry continues; a retry of every code includes one of a single code. Documents that " +
      "failed as `message_lost` were never recorded and cannot be queued again: `lost` counts them. `expired` " +
      "counts those whose texts were deleted to make room in a nearly full database. A canceled submission is answered 409.",
    query: retryQuery,
    answer: answers.retriedSchema,
    problems: ["not-found", "conflict"],
  }),
  route({
    method: "GET",
    path: "/v1/collections/:collection",
    scope: "read",
    handle: answerWith(getCollection),
    id: "getCollection",
    summary: "Count a collection's documents, and follow its deletion",
    query: noQuery,
    answer: collectionSchema,
    problems: ["not-found"],
  }),
  route({
    method: "DELETE",
    path: "/v1/collections/:collection",
    scope: "admin",
    handle: answerWith(deleteCollection, acceptedResponse),
    id: "deleteCollection",
    summary: "Delete a collection: all its documents pushed so far",
    notes:
      "Covers every submission up to the newest one at the time of the request, `through`; later pushes are untouched. " +
      "Some thousand documents are deleted at once, and the poller deletes the others within minutes: `GET` shows the " +
      "progress. Their inputs, texts and scores are deleted; submissions and their counts stay. Unfinished submissions " +
      "are canceled: documents in the Queue end as `canceled` when their message arrives, without being stored, and " +
      "answers of Workers AI are dropped. Pushes in progress are ended with 409, and retries end. Requested again in " +
      "progress, the deletion extends to the newest submission; after its end, it begins anew.",
    query: noQuery,
    status: 202,
    answer: deletionSchema,
    problems: ["not-found"],
  }),
  route({
    method: "GET",
    path: "/v1/collections/:collection/documents",
    scope: "read",
    handle: answerWith(getDocuments, documentsResponse),
    id: "getDocuments",
    summary: "Read up to 100 documents by their ids, in the order asked",
    notes:
      "Cloudflare limits URLs to 16 KB. It answers a longer one with 414 and no problem document, since the request " +
      "never reaches Sluice: ask for fewer long ids at once.",
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
    transient: ["not-found"],
  }),
  route({
    method: "DELETE",
    path: "/v1/collections/:collection/documents/:id",
    scope: "ingest",
    handle: answerWith(deleteDocument),
    id: "deleteDocument",
    summary: "Delete all versions of a document",
    notes:
      "Inputs, texts and scores are deleted, of recorded versions only: a version in the Queue, or staged in D1 because " +
      "it is too large for a message, still arrives. Cancel its submission, or delete again once it is recorded. A version that had not ended counts as `canceled` in its " +
      "submission without being among its results, and its answer is dropped.",
    query: noQuery,
    answer: answers.deletedSchema,
    problems: ["not-found"],
    transient: ["not-found"],
  }),
  route({
    method: "GET",
    path: "/v1/results",
    scope: "read",
    handle: readFeed,
    id: "readFeed",
    summary: "Follow documents as they end, across submissions, each at least once",
    notes:
      "In the order in which their jobs ended. `next_cursor` is never null: more may end later. Canceled documents end " +
      "without a job and are not in it; deleted documents are not in it either.",
    query: feedQuery,
    answer: answers.documentPageSchema,
    answerHeaders: ["Link"],
    line: documentOutSchema,
    problems: [],
  }),
  ...operatingRoutes,
];

export const NDJSON = NDJSON_TYPES[0];
