import type {
  Collection,
  CollectionDeletion,
  Attempt,
  Counts,
  DeletedDocument,
  Document,
  DocumentError,
  DocumentList,
  DocumentStatus,
  Health,
  Job,
  JobStatus,
  JobUsage,
  Lane,
  MalformedMessage,
  Page,
  Pause,
  PauseList,
  PauseReason,
  Problem,
  ProblemPlace,
  PushAccepted,
  RejectedLine,
  Replayed,
  Resumed,
  RetryAccepted,
  SubmissionRetry,
  Score,
  Scorer,
  DatabaseSize,
  Stats,
  Submission,
  SubmissionPage,
  SubmissionStatus,
  SubmissionUsage,
  Waiting,
  WaitingReason,
} from "../types.ts";
import {
  anything,
  boolean,
  list,
  literal,
  nullable,
  number,
  object,
  optional,
  record,
  text,
  time,
  type Shape,
} from "./shape.ts";

/*
 * The shapes of the API's answers, one for each type in types.ts. Every answer is checked on arrival, because another
 * service may answer in place of the API.
 */

const string = text();
const lane = text<Lane>();

const counts = object<Counts>({
  total: number,
  queued: number,
  processing: number,
  succeeded: number,
  failed: number,
  canceled: number,
});

const waiting = object<Waiting>({ reason: text<WaitingReason>(), until: nullable(time) });

export const submissionShape = object<Submission>({
  id: string,
  collection: string,
  model: string,
  lane,
  label: nullable(string),
  status: text<SubmissionStatus>(),
  counts,
  failures: record(number),
  incomplete: boolean,
  stalled: nullable(object<NonNullable<Submission["stalled"]>>({ missing: number, since: time })),
  waiting: nullable(waiting),
  retry: nullable(object<SubmissionRetry>({ documents: number, queued: number, since: time })),
  usage: object<SubmissionUsage>({ tokens: number, jobs: number, unconfirmed_dispatches: number }),
  created_at: time,
  completed_at: nullable(time),
});

const score = object<Score>({
  rank: number,
  score: number,
  context_id: string,
  context_index: number,
  text: optional(nullable(string)),
  text_expired_at: optional(nullable(time)),
});

export const documentShape = object<Document>({
  id: string,
  collection: string,
  status: text<DocumentStatus>(),
  query: string,
  model: string,
  lane,
  scores: list(score),
  scored_submission_id: nullable(string),
  stale: boolean,
  error: nullable(object<DocumentError>({ code: string, message: string, retryable: boolean })),
  attempts: number,
  metadata: optional(nullable(record(anything))),
  metadata_json: optional(string),
  submission_id: string,
  job_id: nullable(string),
  waiting: nullable(waiting),
  created_at: time,
  dispatched_at: nullable(time),
  finalized_at: nullable(time),
});

const attempt = object<Attempt>({
  attempt: number,
  started_at: time,
  ended_at: nullable(time),
  request_id: nullable(string),
  error: nullable(object<NonNullable<Attempt["error"]>>({ reason: string, message: string })),
});

const jobUsage = { tokens: nullable(number), unconfirmed_dispatches: number, repeated_dispatches: number };

export const jobShape = object<Job>({
  id: string,
  status: text<JobStatus>(),
  lane,
  model: string,
  request_id: nullable(string),
  parent_id: nullable(string),
  merged_into: nullable(string),
  attempts: list(attempt),
  document_count: number,
  context_count: number,
  payload_bytes: number,
  age_seconds: number,
  next_poll_at: nullable(time),
  waiting: nullable(waiting),
  usage: object<JobUsage>(jobUsage),
  created_at: time,
  dispatched_at: nullable(time),
  ended_at: nullable(time),
});

const pause = object<Pause>({
  scope: string,
  reason: text<PauseReason>(),
  message: nullable(string),
  since: time,
  until: nullable(time),
});

export const pauseListShape = object<PauseList>({ data: list(pause) });

export const resumedShape = object<Resumed>({ resumed: nullable(pause), data: list(pause) });

const documentsByStatus = object<Readonly<Record<DocumentStatus, number>>>({
  queued: number,
  processing: number,
  succeeded: number,
  failed: number,
  canceled: number,
});

export const statsShape = object<Stats>({
  scorer: text<Scorer>(),
  lanes: object<Stats["lanes"]>({ interactive: documentsByStatus, bulk: documentsByStatus }),
  backlog: object<Stats["backlog"]>({ documents: number, jobs: number }),
  oldest_waiting_at: nullable(time),
  throughput: object<Stats["throughput"]>({ last_5_minutes: number, last_hour: number }),
  failures: record(number),
  malformed_messages: number,
  pauses: list(pause),
  poller: nullable(object<NonNullable<Stats["poller"]>>({ last_run_at: time })),
  database: nullable(
    object<DatabaseSize>({ level: text<DatabaseSize["level"]>(), bytes: number, limit_bytes: number, since: time }),
  ),
  usage: object<Stats["usage"]>({ ...jobUsage, jobs: number }),
});

export const healthShape = object<Health>({ status: literal("ok") });

const rejectedLine = object<RejectedLine>({ line: number, detail: string });

export const pushAcceptedShape = object<PushAccepted>({
  submission: submissionShape,
  documents: nullable(list(object<{ readonly id: string }>({ id: string }))),
  accepted: number,
  rejected_count: number,
  rejected: list(rejectedLine),
});

export const retryAcceptedShape = object<RetryAccepted>({
  submission: submissionShape,
  queued: number,
  lost: number,
  expired: optional(number),
});

export const deletionShape = object<CollectionDeletion>({
  requested_at: time,
  through: string,
  deleted_documents: number,
  completed_at: nullable(time),
});

export const collectionShape = object<Collection>({
  collection: string,
  counts: object<Collection["counts"]>({
    total: number,
    processing: number,
    succeeded: number,
    failed: number,
    canceled: number,
  }),
  counted_all: boolean,
  deletion: nullable(deletionShape),
});

export const deletedDocumentShape = object<DeletedDocument>({ deleted: number });

export const documentListShape = object<DocumentList>({ data: list(documentShape), missing: list(string) });

function page<Item>(item: Shape<Item>): Shape<Page<Item>> {
  return object<Page<Item>>({ data: list(item), next_cursor: nullable(string) });
}

export const documentPageShape = page(documentShape);
export const jobPageShape = page(jobShape);
export const submissionPageShape = object<SubmissionPage>({
  data: list(submissionShape),
  next_cursor: nullable(string),
  counts: optional(counts),
});

const malformedMessage = object<MalformedMessage>({
  id: string,
  queue: string,
  message_id: string,
  reason: string,
  submission_id: nullable(string),
  bytes: number,
  received_at: time,
});

export const malformedPageShape = page(malformedMessage);
export const replayedShape = object<Replayed>({ replayed: number });

const pointerPlace = object<{ readonly pointer: string; readonly detail: string }>({ pointer: string, detail: string });

/** The location of an error: a pointer or a line. */
export const problemPlaceShape: Shape<ProblemPlace> = {
  flaw: (value, pointer) => (rejectedLine.flaw(value, pointer) === null ? null : pointerPlace.flaw(value, pointer)),
};

const anyPlace: Shape<ProblemPlace> = { flaw: () => null };

export const problemShape = object<Problem>({
  type: string,
  title: string,
  status: number,
  detail: string,
  // problemPlaceShape checks each item on its own.
  errors: list(anyPlace),
  request_id: optional(string),
  submission: optional(nullable(string)),
  rejected_count: optional(number),
});
