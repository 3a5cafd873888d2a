import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import { NEVER_DUE } from "../../src/job/schedule.ts";
import type { SubmissionId } from "@sluice/core";
import { CallTimeout } from "@sluice/inference";
import {
  counters,
  documents,
  jobs,
  MIDNIGHT,
  NOW,
  onlyJob,
  open,
  part,
  rows,
  RUN,
  serviceError,
} from "../../test-support/index.ts";
import { deliver, messageOf } from "../../test-support/deliver.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const throwing = (thrown: unknown) => () => Promise.reject(thrown as Error);

/** Delivers a push of `count` documents to a service that answers with `onSubmit`. */
async function deliverTo(onSubmit: () => unknown, count = 4): Promise<SubmissionId> {
  const submission = await open(context.db, { total: count });
  service.onSubmit = onSubmit;
  expect(await deliver(context, [messageOf(part(submission, 0, documents("d", count)))])).toEqual(["ack"]);
  return submission;
}

/** Half a run, plus half of that by the test's random number. */
const FIRST_BACKOFF = NOW + 1.5 * (RUN / 2);
/** The same after a batch that may have been accepted, with a random part of up to a quarter. */
const FIRST_BATCH_BACKOFF = NOW + 1.125 * (RUN / 2);
const CONFIGURATION_PAUSE_MS = NOW + 15 * 60_000;

describe("a temporarily refused job", () => {
  it.each([
    {
      how: "is out of capacity",
      answer: throwing(serviceError("3040: Capacity temporarily exceeded")),
      reason: "retry",
      due: FIRST_BACKOFF,
      unconfirmed: 0,
    },
    {
      how: "is out of capacity in a 200",
      answer: () => ({ success: false, errors: [{ code: 3040, message: "Capacity" }] }),
      reason: "retry",
      due: FIRST_BACKOFF,
      unconfirmed: 0,
    },
    {
      how: "names a time to retry",
      answer: throwing(serviceError("3040: Capacity, retry after 300 s")),
      reason: "retry",
      due: NOW + 300_000,
      unconfirmed: 0,
    },
    {
      how: "times out",
      answer: throwing(serviceError("3007: Request timeout")),
      reason: "retry",
      due: FIRST_BATCH_BACKOFF,
      unconfirmed: 1,
    },
    {
      how: "fails inside",
      answer: throwing(serviceError("<html><title>502 Bad gateway</title></html>")),
      reason: "retry",
      due: FIRST_BATCH_BACKOFF,
      unconfirmed: 1,
    },
    {
      how: "throws an error without a message",
      answer: throwing(serviceError("")),
      reason: "retry",
      due: FIRST_BATCH_BACKOFF,
      unconfirmed: 1,
    },
    {
      how: "throws a value that is not an error",
      answer: throwing(undefined),
      reason: "retry",
      due: FIRST_BATCH_BACKOFF,
      unconfirmed: 1,
    },
    { how: "answers nothing", answer: () => null, reason: "retry", due: FIRST_BATCH_BACKOFF, unconfirmed: 1 },
    {
      how: "answers without a request_id",
      answer: () => ({ status: "queued" }),
      reason: "retry",
      due: FIRST_BATCH_BACKOFF,
      unconfirmed: 1,
    },
    {
      how: "has no neurons left today",
      answer: throwing(serviceError("3036: You have used up your daily free allocation")),
      reason: "pause",
      due: MIDNIGHT,
      unconfirmed: 0,
    },
    {
      how: "has no neurons left, by its other code",
      answer: throwing(serviceError("4006: you have used up your daily neurons")),
      reason: "pause",
      due: MIDNIGHT,
      unconfirmed: 0,
    },
    {
      how: "does not know the model",
      answer: throwing(serviceError("5007: No such model")),
      reason: "configuration",
      due: CONFIGURATION_PAUSE_MS,
      unconfirmed: 0,
    },
    {
      how: "refuses the account",
      answer: throwing(serviceError("10000: Authentication error")),
      reason: "configuration",
      due: CONFIGURATION_PAUSE_MS,
      unconfirmed: 0,
    },
  ])("waits in D1, its messages acknowledged: Workers AI $how", async ({ answer, reason, due, unconfirmed }) => {
    const submission = await deliverTo(answer);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "pending",
      dispatchNumber: 1,
      round: 1,
      // A fault that pauses the whole model is not about the job.
      refusals: reason === "retry" ? 1 : 0,
      requestId: null,
      dueAt: due,
      unconfirmed,
      repeated: 0,
      documents: ["d0", "d1", "d2", "d3"],
      dispatches: [{ number: 1, started_at: NOW, ended_at: NOW, error: { reason } }],
    });
    expect(await counters(env.DB, submission)).toEqual({
      total: 4,
      recorded: 4,
      succeeded: 0,
      failed: 0,
      canceled: 0,
      completed: false,
    });
    expect(service.calls).toHaveLength(1);
  });

  it.each([
    { how: "the day's neurons are used up", error: "3036: used up your daily free allocation" },
    { how: "the account is refused", error: "10000: Authentication error" },
  ])("holds the other jobs of its delivery if $how", async ({ error }) => {
    service.onSubmit = throwing(serviceError(error));
    const lanes = ["bulk", "interactive"] as const;
    const messages = [];
    for (const lane of [...lanes, ...lanes]) {
      const submission = await open(context.db, { lane });
      messages.push(messageOf(part(submission, 0, documents(`${messages.length}-`, 1)), { lane }));
    }
    expect(new Set(await deliver(context, messages))).toEqual(new Set(["ack"]));
    expect(service.submits).toHaveLength(1);
    expect((await jobs(env.DB)).map(({ status }) => status)).toEqual(["pending", "pending"]);
  });

  it("waits in D1 if the call times out, and counts as unconfirmed", async () => {
    Object.assign(context, { bounded: () => Promise.reject(new CallTimeout(60_000)) });
    await deliverTo(() => undefined);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "pending",
      refusals: 1,
      dueAt: FIRST_BATCH_BACKOFF,
      unconfirmed: 1,
    });
  });
});

describe("a job whose input is refused", () => {
  it.each([
    { how: "too large", answer: throwing(serviceError("3006: Request is too large")), reason: "shrink" },
    {
      how: "too large, by its HTTP status",
      answer: throwing(serviceError("<html><title>413 Payload Too Large</title></html>")),
      reason: "shrink",
    },
    { how: "invalid", answer: throwing(serviceError("5006: Error: oneOf at '/' not met")), reason: "invalid" },
  ])("is split into pieces that are due now: $how", async ({ answer, reason }) => {
    const submission = await deliverTo(answer, 5);
    const [whole, ...pieces] = await jobs(env.DB);
    expect(whole).toMatchObject({ status: "split", dueAt: null, dispatches: [{ error: { reason } }] });
    expect(pieces).toMatchObject([
      { status: "pending", parent: whole?.id, round: 1, dispatchNumber: 0, dueAt: NOW, documents: ["d0", "d1"] },
      { status: "pending", parent: whole?.id, round: 1, dispatchNumber: 0, dueAt: NOW, documents: ["d2", "d3"] },
      { status: "pending", parent: whole?.id, round: 1, dispatchNumber: 0, dueAt: NOW, documents: ["d4"] },
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({
      recorded: 5,
      succeeded: 0,
      failed: 0,
      completed: false,
    });
    expect(service.calls).toHaveLength(1);
  });

  it.each([
    {
      how: "too large alone",
      count: 1,
      answer: throwing(serviceError("3006: Request is too large")),
      code: "too_large",
      message: "3006: Request is too large",
    },
    {
      how: "invalid alone",
      count: 1,
      answer: throwing(serviceError("5006: query is missing")),
      code: "invalid_input",
      message: "5006: query is missing",
    },
    {
      how: "of an unsupported form",
      count: 3,
      answer: throwing(serviceError("5005: not supported")),
      code: "refused",
      message: "5005: not supported",
    },
  ])("fails with the service's message: $how", async ({ count, answer, code, message }) => {
    const submission = await deliverTo(answer, count);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "failed", dispatchNumber: 1, dueAt: null });
    const failed = documents("d", count).map(({ id }) => ({ id, code, message, attempts: 1 }));
    expect(
      await rows(env.DB, "SELECT document_id AS id, code, message, attempts FROM failures ORDER BY document_id"),
    ).toEqual(failed);
    expect(await counters(env.DB, submission)).toEqual({
      total: count,
      recorded: count,
      succeeded: 0,
      failed: count,
      canceled: 0,
      completed: true,
    });
  });
});

describe("a paused model", () => {
  it.each([
    { reason: "daily_limit", error: "3036: used up your daily free allocation", until: MIDNIGHT },
    { reason: "configuration", error: "5007: No such model", until: CONFIGURATION_PAUSE_MS },
  ])("records its messages and is not called until the pause ends: $reason", async ({ error, until }) => {
    await deliverTo(throwing(serviceError(error)));
    service.onSubmit = null;
    const later = await open(context.db, { total: 1 });
    context.clock.now += RUN;
    expect(await deliver(context, [messageOf(part(later, 0, documents("late", 1)))])).toEqual(["ack"]);
    expect(service.calls).toHaveLength(1);
    const [, waiting] = await jobs(env.DB);
    expect(waiting).toMatchObject({ status: "pending", dispatchNumber: 0, documents: ["late0"], dueAt: NEVER_DUE });
    context.clock.now = until;
    const after = await open(context.db, { total: 1 });
    await deliver(context, [messageOf(part(after, 0, documents("after", 1)))]);
    expect(service.calls).toHaveLength(2);
  });
});
