import type {
  Collection,
  CollectionDeletion,
  Counts,
  Document,
  DocumentIn,
  Job,
  MalformedMessage,
  Pause,
  Score,
  Scorer,
  Stats,
  Submission,
} from "../src/types.ts";

const CREATED = "2026-01-01T00:00:00.000Z";

export function submissionOf(
  id: string,
  documents: readonly Document[],
  options: URLSearchParams,
  status: Submission["status"] = "queued",
): Submission {
  const of = (state: Document["status"]) => documents.filter((document) => document.status === state).length;
  const counts: Counts = {
    total: documents.length,
    queued: of("queued"),
    processing: of("processing"),
    succeeded: of("succeeded"),
    failed: of("failed"),
    canceled: of("canceled"),
  };
  const open = status === "queued";
  return {
    id,
    collection: options.get("collection") ?? "default",
    model: "@cf/baai/bge-m3",
    lane: options.get("lane") === "interactive" ? "interactive" : "bulk",
    label: options.get("label"),
    status,
    counts,
    failures: counts.failed > 0 ? { model_error: counts.failed } : {},
    incomplete: false,
    stalled: null,
    waiting: open ? { reason: "answer", until: "2026-01-01T00:01:00.000Z" } : null,
    retry: null,
    usage: { tokens: open ? 0 : 1_234, jobs: open ? 0 : 1, unconfirmed_dispatches: 0 },
    created_at: CREATED,
    completed_at: open ? null : "2026-01-01T00:01:00.000Z",
  };
}

/** The scores decrease in the order of the contexts. */
export function documentOf(
  document: DocumentIn & { readonly id: string },
  submission: string,
  options: URLSearchParams,
): Document {
  const scores = document.contexts.map((context, index): Score => {
    const id = typeof context === "string" ? undefined : context.id;
    return { rank: index + 1, score: 0.9 - index / 10, context_id: id ?? String(index), context_index: index };
  });
  return {
    id: document.id,
    collection: options.get("collection") ?? "default",
    status: "queued",
    query: document.query,
    model: "@cf/baai/bge-m3",
    lane: "bulk",
    scores,
    scored_submission_id: submission,
    stale: false,
    error: null,
    attempts: 1,
    submission_id: submission,
    job_id: "job_1",
    waiting: null,
    created_at: CREATED,
    dispatched_at: CREATED,
    finalized_at: null,
  };
}

export function jobOf(more: Partial<Job> = {}): Job {
  return {
    id: "job_1",
    status: "pending",
    lane: "bulk",
    model: "@cf/baai/bge-m3",
    request_id: null,
    parent_id: null,
    merged_into: null,
    attempts: [
      {
        attempt: 1,
        started_at: CREATED,
        ended_at: "2026-01-01T00:00:01.000Z",
        request_id: null,
        error: { reason: "retry", message: "3040: Capacity temporarily exceeded" },
      },
    ],
    document_count: 120,
    context_count: 600,
    payload_bytes: 1_234_567,
    age_seconds: 90,
    next_poll_at: null,
    waiting: { reason: "retry", until: "2026-01-01T00:02:00.000Z" },
    usage: { tokens: null, unconfirmed_dispatches: 0, repeated_dispatches: 0 },
    created_at: CREATED,
    dispatched_at: null,
    ended_at: null,
    ...more,
  };
}

export function malformedOf(id: string): MalformedMessage {
  return {
    id,
    queue: "sluice-bulk",
    message_id: id.slice(4),
    reason: "the body is not JSON",
    submission_id: null,
    bytes: 6,
    received_at: CREATED,
  };
}

export function collectionOf(collection: string, deletion: CollectionDeletion | null): Collection {
  const counts = { total: 3, processing: 0, succeeded: 2, failed: 1, canceled: 0 };
  return { collection, counts, counted_all: true, deletion };
}

export function statsOf(pauses: readonly Pause[], scorer: Scorer): Stats {
  const lane = { queued: 0, processing: 0, succeeded: 0, failed: 0, canceled: 0 };
  return {
    scorer,
    lanes: { interactive: lane, bulk: lane },
    backlog: { documents: 0, jobs: 0 },
    oldest_waiting_at: null,
    throughput: { last_5_minutes: 0, last_hour: 0 },
    failures: {},
    malformed_messages: 0,
    pauses,
    poller: { last_run_at: CREATED },
    database: null,
    usage: { tokens: 0, jobs: 0, unconfirmed_dispatches: 0, repeated_dispatches: 0 },
  };
}
