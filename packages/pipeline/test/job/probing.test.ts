import { describe, expect, it } from "vitest";
import type { JobId, Lane, ModelName, RequestId } from "@sluice/core";
import type { DispatchedJob } from "../../src/job/sql/claim-due-jobs.ts";
import { NOW } from "../../test-support/index.ts";
import { PollOrder, type PendingAges } from "../../src/job/poll-order.ts";

const SECOND = 1_000;

function dispatched(age: number, lane: Lane = "interactive", model = "m"): DispatchedJob {
  return {
    id: `job-${age}` as JobId,
    model: model as ModelName,
    lane,
    dispatchNumber: 1,
    round: 1,
    refusals: 0,
    batches: 1,
    halvings: 0,
    contexts: 3,
    payloadBytes: 200,
    createdAt: NOW - age,
    status: "dispatched",
    requestId: `batch-${age}` as RequestId,
    dispatchedAt: NOW - age,
  };
}

/** Polls one job after another. Returns the polled ages in order. */
function pollAll(queue: PollOrder, isPending: (age: number) => boolean): number[] {
  const polled: number[] = [];
  for (let job = queue.next(); job !== null; job = queue.next()) {
    const age = NOW - job.dispatchedAt;
    polled.push(age);
    queue.report(job, isPending(age));
  }
  return polled;
}

/** Creates jobs with ages from 1 s to `count` s. */
const everySecond = (count: number) => Array.from({ length: count }, (_, index) => dispatched((index + 1) * SECOND));

describe("the order of polls", () => {
  it("is oldest first, and reaches every finished batch", () => {
    const polled = pollAll(new PollOrder(everySecond(300), NOW, new Map()), (age) => age < 30 * SECOND);
    expect(polled[0]).toBe(300 * SECOND);
    expect(polled.filter((age) => age >= 30 * SECOND)).toHaveLength(271);
    expect(polled.length).toBeLessThanOrEqual(271 + 12);
  });

  it("leaves young batches without a call while older ones are in progress", () => {
    const ages: PendingAges = new Map();
    expect(pollAll(new PollOrder(everySecond(300), NOW, ages), () => true)).toHaveLength(12);
    expect(pollAll(new PollOrder(everySecond(250), NOW, ages), () => true)).toEqual([]);
    expect(pollAll(new PollOrder([dispatched(400 * SECOND)], NOW, ages), () => true)).toHaveLength(1);
  });

  it("reaches finished batches behind many old stuck ones", () => {
    const stuck = Array.from({ length: 100 }, (_, index) => dispatched(10_000 * SECOND + index));
    const polled = pollAll(
      new PollOrder([...everySecond(100), ...stuck], NOW, new Map()),
      (age) => age > 1_000 * SECOND,
    );
    expect(polled.filter((age) => age <= 1_000 * SECOND)).toHaveLength(100);
  });

  it("is decided separately for each model and lane", () => {
    const jobs = [...everySecond(50), ...everySecond(50).map((job) => ({ ...job, lane: "bulk" as const }))];
    const polled: string[] = [];
    const queue = new PollOrder(jobs, NOW, new Map());
    for (let job = queue.next(); job !== null; job = queue.next()) {
      polled.push(job.lane);
      queue.report(job, job.lane === "interactive");
    }
    expect(polled.filter((lane) => lane === "interactive")).toHaveLength(12);
    expect(polled.filter((lane) => lane === "bulk")).toHaveLength(50);
  });

  it("polls every job if none may be left", () => {
    expect(pollAll(new PollOrder(everySecond(50), NOW, null), () => true)).toHaveLength(50);
  });

  it("includes a job that was put back", () => {
    const queue = new PollOrder(everySecond(2), NOW, new Map());
    const job = queue.next();
    if (job !== null) queue.putBack(job);
    expect(pollAll(queue, () => false)).toEqual([2 * SECOND, SECOND]);
  });
});
