import type { JobId, SubmissionId } from "@sluice/core";
import type { DocumentRow } from "@sluice/pipeline/document/sql/read-document.ts";
import type { HoldingJob } from "@sluice/pipeline/job/sql/read-holding-jobs.ts";
import type { Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import type { SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import { describe, expect, it } from "vitest";
import type { Include } from "../src/http/query.ts";
import { documentJson, documentShape } from "../src/shapes/document.ts";
import { NOTHING_AROUND, submissionShape, type SubmissionSurroundings } from "../src/shapes/submission.ts";

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;
const SUBMISSION = "sub_01999999-0000-7000-8000-000000000000" as SubmissionId;

const submissionRow = (more: Partial<SubmissionRow> = {}): SubmissionRow => ({
  id: SUBMISSION,
  collection: "default",
  model: "@cf/baai/bge-m3",
  lane: "bulk",
  label: null,
  truncateInputs: true,
  total: 10,
  recorded: 0,
  succeeded: 0,
  failed: 0,
  canceled: 0,
  lost: 0,
  forgotten: 0,
  incomplete: false,
  jobs: 0,
  tokens: 0,
  unconfirmedDispatches: 0,
  createdAt: NOW,
  activeAt: NOW,
  closedAt: NOW,
  cancelRequestedAt: null,
  completedAt: null,
  holder: null,
  openedBy: null,
  isRetrying: false,
  ...more,
});

describe("a submission's status", () => {
  it.each([
    ["receiving", { closedAt: null, recorded: 3 }],
    ["queued", {}],
    ["processing", { recorded: 1 }],
    ["processing", { lost: 1 }],
    ["canceling", { recorded: 1, cancelRequestedAt: NOW }],
    ["canceling", { closedAt: null, cancelRequestedAt: NOW }],
    ["canceled", { recorded: 10, canceled: 10, cancelRequestedAt: NOW, completedAt: NOW }],
    ["completed", { recorded: 10, failed: 10, completedAt: NOW }],
    ["processing", { recorded: 10, failed: 10, completedAt: NOW, isRetrying: true }],
    ["receiving", { recorded: 10, failed: 10, closedAt: null, isRetrying: true }],
  ] as const)("is %s at %j", (status, more) => {
    expect(submissionShape(submissionRow(more), NOTHING_AROUND, NOW).status).toBe(status);
  });
});

it("a submission's counts add up, with lost documents as failures of their own code", () => {
  const row = submissionRow({ recorded: 7, succeeded: 3, failed: 1, canceled: 1, lost: 2 });
  const shape = submissionShape(row, { ...NOTHING_AROUND, failures: [{ code: "too_large", count: 1 }] }, NOW);
  expect(shape.counts).toEqual({ total: 10, queued: 1, processing: 2, succeeded: 3, failed: 3, canceled: 1 });
  expect(shape.failures).toEqual({ too_large: 1, message_lost: 2 });
});

it("an open submission whose documents all ended waits an hour for the rest of its push", () => {
  const row = submissionRow({ total: 5, recorded: 5, succeeded: 5, closedAt: null, activeAt: NOW + MINUTE });
  expect(submissionShape(row, NOTHING_AROUND, NOW).waiting).toEqual({
    reason: "push",
    until: new Date(NOW + 61 * MINUTE).toISOString(),
  });
  expect(submissionShape({ ...row, closedAt: NOW }, NOTHING_AROUND, NOW).waiting).toBeNull();
});

describe("a submission is stalled", () => {
  const stalled = (more: Partial<SubmissionRow>, age: number) =>
    submissionShape(submissionRow(more), NOTHING_AROUND, NOW + age).stalled;

  it("if documents are missing ten minutes after the last was sent, with number and time", () => {
    expect(stalled({ recorded: 4, lost: 1 }, 10 * MINUTE)).toBeNull();
    expect(stalled({ recorded: 4, lost: 1 }, 10 * MINUTE + 1)).toEqual({
      missing: 5,
      since: new Date(NOW).toISOString(),
    });
    expect(stalled({ recorded: 4, activeAt: NOW + MINUTE }, 10 * MINUTE + 1)).toBeNull();
  });

  it("never while receiving, nor with everything recorded", () => {
    expect(stalled({ closedAt: null, recorded: 4 }, 60 * MINUTE)).toBeNull();
    expect(stalled({ recorded: 10 }, 60 * MINUTE)).toBeNull();
  });
});

const documentRow = (more: Partial<DocumentRow> = {}): DocumentRow => ({
  documentId: "d",
  collection: "default",
  submissionId: SUBMISSION,
  query: "q",
  metadata: null,
  contexts: null,
  contextsExpiredAt: null,
  model: "@cf/baai/bge-m3",
  lane: "bulk",
  createdAt: NOW,
  isCanceled: 0,
  status: null,
  outcomeJobId: null,
  code: null,
  message: null,
  attempts: null,
  outcomeDispatchedAt: null,
  finalizedAt: null,
  scores: null,
  rootJobId: "job_1" as JobId,
  rootStatus: null,
  rootDispatchNumber: null,
  rootRound: null,
  rootRefusals: null,
  rootDispatchedAt: null,
  rootDivided: 0,
  rootDueAt: null,
  olderSubmissionId: null,
  olderScores: null,
  olderContexts: null,
  olderContextsExpiredAt: null,
  ...more,
});
const job = (more: Partial<HoldingJob> = {}): HoldingJob => ({
  id: "job_2" as JobId,
  status: "pending",
  dispatchNumber: 0,
  round: 2,
  refusals: 0,
  dispatchedAt: null,
  dueAt: NOW + MINUTE,
  ...more,
});
const view = { topK: null, include: [] };
const AT = { now: NOW, pauses: [] };

describe("a document's texts", () => {
  const row = (more: Partial<DocumentRow>) =>
    documentRow({ status: "succeeded", finalizedAt: NOW, scores: "[[1,0.5]]", ...more });
  const texts = (more: Partial<DocumentRow>) =>
    documentShape(row(more), null, { topK: null, include: ["text"] }, AT).scores.map(
      ({ text, text_expired_at: expiredAt }) => [text, expiredAt],
    );
  const then = new Date(NOW + MINUTE).toISOString();

  it("are shown, or null with the time at which they expired", () => {
    expect(texts({ contexts: '["a","b"]' })).toEqual([["b", null]]);
    expect(texts({ contexts: null, contextsExpiredAt: NOW + MINUTE })).toEqual([[null, then]]);
    // Their row was rewritten to the texts of failed documents.
    expect(texts({ contexts: String(NOW + MINUTE) })).toEqual([[null, then]]);
    // Deleted on request.
    expect(texts({ contexts: "null" })).toEqual([[null, null]]);
  });

  it("are those of the version that the scores are of", () => {
    const older = { olderSubmissionId: SUBMISSION, olderScores: "[[0,0.5]]" };
    expect(
      texts({ status: null, contexts: '["new"]', ...older, olderContexts: null, olderContextsExpiredAt: NOW + MINUTE }),
    ).toEqual([[null, then]]);
    expect(texts({ status: null, contexts: '["new"]', ...older, olderContexts: '["old"]' })).toEqual([["old", null]]);
  });

  it("are absent unless they are asked for", () => {
    const [score] = documentShape(row({ contexts: '["a","b"]' }), null, view, AT).scores;
    expect(Object.keys(score ?? {})).toEqual(["rank", "score", "context_id", "context_index"]);
  });
});

describe("a document that has not ended", () => {
  it("counts answers that were used up, plus the one that it waits for once dispatched", () => {
    expect(documentShape(documentRow(), job(), view, AT).attempts).toBe(1);
    expect(documentShape(documentRow(), job({ dispatchNumber: 3 }), view, AT).attempts).toBe(2);
    expect(documentShape(documentRow(), null, view, AT)).toMatchObject({ attempts: 0, job_id: "job_1" });
  });

  const waiting = (more: Partial<HoldingJob>, now = NOW, pauses: readonly Pause[] = []) =>
    documentShape(documentRow(), job(more), view, { now, pauses }).waiting;
  const due = new Date(NOW + MINUTE).toISOString();

  it("waits for its turn, for an answer, or for the next try of a refused job", () => {
    expect(waiting({})).toEqual({ reason: "dispatch", until: due });
    expect(waiting({ status: "dispatching" })).toEqual({ reason: "dispatch", until: due });
    expect(waiting({ status: "dispatched" })).toEqual({ reason: "answer", until: due });
    expect(waiting({ refusals: 2 })).toEqual({ reason: "retry", until: due });
    expect(waiting({ refusals: 2, status: "dispatching" })).toMatchObject({ reason: "dispatch" });
    expect(waiting({ refusals: 2 }, NOW + MINUTE)).toEqual({ reason: "dispatch", until: null });
    expect(documentShape(documentRow(), null, view, AT).waiting).toEqual({ reason: "dispatch", until: null });
  });

  it("waits for the last pause that applies to it to end, unless Workers AI has it already", () => {
    const pause = (scope: string, until: number | null, reason: Pause["reason"] = "daily_limit"): Pause => ({
      scope,
      reason,
      message: null,
      since: NOW,
      until,
    });
    const daily = pause("model:@cf/baai/bge-m3", NOW + 2 * MINUTE);
    expect(waiting({}, NOW, [daily])).toEqual({
      reason: "daily_limit",
      until: new Date(NOW + 2 * MINUTE).toISOString(),
    });
    expect(waiting({ status: "dispatched" }, NOW, [daily])).toMatchObject({ reason: "answer" });
    const asked = pause(`submission:${SUBMISSION}`, null, "requested");
    expect(waiting({}, NOW, [daily, asked])).toEqual({ reason: "paused_submission", until: null });
    const model = pause("model:@cf/baai/bge-m3", null, "requested");
    expect(waiting({}, NOW, [asked, model])).toEqual({ reason: "paused_model", until: null });
    expect(waiting({}, NOW, [asked, model, pause("all", null, "requested")])).toEqual({
      reason: "paused",
      until: null,
    });
    const others = [pause("model:another", null), pause("submission:sub_2", null, "requested")];
    expect(waiting({}, NOW, others)).toMatchObject({ reason: "dispatch" });
    const canceled = documentShape(documentRow({ isCanceled: 1 }), job({ dueAt: NOW }), view, {
      now: NOW,
      pauses: [model],
    });
    expect(canceled.waiting).toEqual({ reason: "dispatch", until: null });
  });
});

describe("a submission waits", () => {
  const around = (more: Partial<SubmissionSurroundings>) => ({ ...NOTHING_AROUND, ...more });
  const waiting = (
    more: Partial<SubmissionRow>,
    jobs: SubmissionSurroundings["jobs"] = [],
    pauses: readonly Pause[] = [],
  ) => submissionShape(submissionRow(more), around({ jobs, pauses }), NOW).waiting;
  const pending = { status: "pending", refusals: 0, dueAt: NOW + MINUTE } as const;
  const dispatched = { status: "dispatched", refusals: 0, dueAt: NOW + 2 * MINUTE } as const;
  const paused: Pause = { scope: "all", reason: "requested", message: null, since: NOW, until: null };

  it("for the Queue before anything is recorded, and for nothing once it ended", () => {
    expect(waiting({})).toEqual({ reason: "queue", until: null });
    expect(waiting({ recorded: 10, succeeded: 10, completedAt: NOW })).toBeNull();
    expect(waiting({ recorded: 10, succeeded: 10, closedAt: null })?.reason).toBe("push");
  });

  it("for what its jobs wait for: first a retry, then an answer", () => {
    const turnedAway = { ...pending, refusals: 1 };
    expect(waiting({ recorded: 10 }, [pending])?.reason).toBe("dispatch");
    expect(waiting({ recorded: 10 }, [pending, dispatched])?.reason).toBe("answer");
    expect(waiting({ recorded: 10 }, [dispatched, { ...dispatched, dueAt: NOW + MINUTE }])?.until).toBe(
      new Date(NOW + MINUTE).toISOString(),
    );
    expect(waiting({ recorded: 10 }, [pending, dispatched, turnedAway])?.reason).toBe("retry");
  });

  it("for a pause to end, unless Workers AI has all that is left", () => {
    expect(waiting({ recorded: 10 }, [pending], [paused])).toEqual({ reason: "paused", until: null });
    expect(waiting({}, [], [paused])?.reason).toBe("paused");
    expect(waiting({ recorded: 10 }, [dispatched], [paused])?.reason).toBe("answer");
    expect(waiting({ recorded: 9 }, [dispatched], [paused])?.reason).toBe("paused");
  });

  it("for no pause once it is canceled, since that takes effect at once", () => {
    const canceled = { cancelRequestedAt: NOW };
    expect(waiting({ ...canceled, recorded: 10 }, [{ ...pending, dueAt: NOW }], [paused])).toEqual({
      reason: "dispatch",
      until: null,
    });
    expect(waiting(canceled, [], [paused])?.reason).toBe("queue");
  });

  it("for a retry to queue its documents, or for a pause to end", () => {
    const retried = { recorded: 10, failed: 10, completedAt: NOW, isRetrying: true };
    expect(waiting(retried)).toEqual({ reason: "dispatch", until: null });
    expect(waiting(retried, [], [paused])?.reason).toBe("paused");
  });
});

it("a document's error says by its code whether a retry may help", () => {
  const error = (code: string) =>
    documentShape(documentRow({ status: "failed", code, message: null }), null, view, AT).error;
  expect(error("invalid_input")).toMatchObject({
    code: "invalid_input",
    retryable: false,
    message: expect.stringContaining("invalid"),
  });
  expect(error("missing_result")).toMatchObject({ retryable: true });
  expect(error("toString")).toMatchObject({ code: "toString", retryable: true });
});

it("scores have the context's id, or its index without one; a deleted text is null", () => {
  const scores = JSON.stringify([
    [1, 0.5, "b"],
    [0, 0.25],
  ]);
  const row = documentRow({ status: "succeeded", scores, contexts: null });
  expect(documentShape(row, null, { topK: null, include: ["text"] }, AT).scores).toEqual([
    { rank: 1, score: 0.5, context_id: "b", context_index: 1, text: null, text_expired_at: null },
    { rank: 2, score: 0.25, context_id: "0", context_index: 0, text: null, text_expired_at: null },
  ]);
});

it("metadata is inserted as it is stored, and only if requested", () => {
  const metadata = '{"a":[1.0,{"b":"é","b":1546130668394913823}],"__proto__":{"c":null}}';
  const row = documentRow({ metadata });
  const json = (stored: string | null, include: Include[]) => {
    const view = { topK: null, include };
    return documentJson(documentShape(row, null, view, AT), documentRow({ metadata: stored }), view);
  };
  expect(json(metadata, ["metadata"])).toContain(`,"metadata":${metadata}}`);
  expect(JSON.parse(json(null, ["metadata"]))).toHaveProperty("metadata", null);
  expect(json(metadata, ["text"])).not.toContain("metadata");
});
