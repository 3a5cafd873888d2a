import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import {
  documents,
  expectedScores,
  jobs,
  NOW,
  recordJob,
  rows,
  scoresInView,
  type SubmitCall,
} from "../../test-support/index.ts";
import { runPoller } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const MINUTE = 60_000;
const LIST = documents("big", 16);
const isBig = ({ requests }: SubmitCall) => requests.some(({ query }) => query.includes("big"));
const timedOut = () => Promise.reject(new Error("Workers AI did not answer within 60 s."));

/** Big batches time out unless they have at most `maxDocuments` documents. While one is submitted, `meanwhile` runs. */
function timeOutAbove(maxDocuments: number, meanwhile: () => Promise<unknown> = async () => undefined): void {
  service.onSubmit = async (call) => {
    if (!isBig(call) || call.requests.length <= maxDocuments) return undefined;
    context.clock.now += MINUTE / 2;
    await meanwhile();
    context.clock.now += MINUTE / 2;
    return timedOut();
  };
}

let others = 0;
/** Records and dispatches another job. */
async function otherSucceeds(): Promise<void> {
  others += 1;
  await recordJob(context.db, documents(`other${others}-`, 1), { now: context.clock.now, dueAt: context.clock.now });
  await env.DB.exec(
    `UPDATE jobs SET status = 'dispatched', dispatch_number = 1, request_id = 'other', dispatched_at = ${context.clock.now},
       due_at = ${context.clock.now + MINUTE * 10_000} WHERE members LIKE '%other${others}-%'`.replaceAll("\n", " "),
  );
}

/** Runs the poller `times` times, whenever big jobs are due. */
async function run(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const due = (await big()).flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt]));
    if (due.length === 0) return;
    context.clock.now = Math.max(context.clock.now + 1_000, Math.min(...due));
    await runPoller(context);
  }
}
const big = async () => (await jobs(env.DB)).filter(({ documents: [first = ""] }) => first.startsWith("big"));
const sizes = () => service.submits.filter(isBig).map(({ requests }) => requests.length);

describe("a job whose submits time out", () => {
  it("is halved at its second timeout while others succeed, and its halves at their first", async () => {
    await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    timeOutAbove(4, otherSucceeds);
    await run(1);
    expect((await big()).map(({ status }) => status)).toEqual(["pending"]);
    await run(40);
    expect(sizes().toSorted((a, b) => b - a)).toEqual([16, 16, 8, 8, 4, 4, 4, 4]);
    expect(await scoresInView(env.DB)).toMatchObject(expectedScores(LIST));
    // Dispatches that may have been paid for are counted, also for halved jobs.
    expect(await rows(env.DB, "SELECT unconfirmed_dispatches AS n FROM submissions WHERE total = 16")).toEqual([
      { n: 4 },
    ]);
  });

  it("is halved at most three times, and its documents are in at most ten batches", async () => {
    await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    timeOutAbove(1, otherSucceeds);
    await run(200);
    expect(Math.min(...sizes())).toBe(2);
    expect(sizes().filter((size) => size === 2)).toHaveLength(8 * 6);
    expect(await rows(env.DB, "SELECT DISTINCT code FROM outcomes WHERE document_id LIKE 'big%'")).toEqual([
      { code: "no_answer" },
    ]);
    expect(await rows(env.DB, "SELECT max(batches) AS batches, max(halvings) AS halvings FROM jobs")).toEqual([
      { batches: 10, halvings: 3 },
    ]);
  });

  it("is left whole while no submit succeeds", async () => {
    await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    await otherSucceeds();
    timeOutAbove(0);
    await run(9);
    expect(sizes()).toEqual(Array.from({ length: 9 }, () => 16));
    service.onSubmit = null;
    await run(3);
    expect(await scoresInView(env.DB)).toMatchObject(expectedScores(LIST));
  });

  it("is left whole while only another model's submits succeed", async () => {
    await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    timeOutAbove(0, async () => {
      await otherSucceeds();
      await env.DB.exec("UPDATE jobs SET model = 'another' WHERE request_id = 'other'");
    });
    await run(4);
    expect(sizes()).toEqual([16, 16, 16, 16]);
  });
});

it("an outage leaves the jobs of a backlog whole", async () => {
  for (let job = 0; job < 12; job += 1) {
    await recordJob(context.db, documents(`big${job}-`, 2), { now: NOW, dueAt: NOW });
    await env.DB.exec(`UPDATE jobs SET dispatch_number = 1 WHERE dispatch_number = 0`);
  }
  service.onSubmit = timedOut;
  while (context.clock.now < NOW + 20 * 60 * MINUTE) await run(1);
  expect(await big()).toHaveLength(12);
  expect(service.submits.length).toBeGreaterThan(12 * 6);
  expect(await rows(env.DB, "SELECT * FROM outcomes")).toEqual([]);
});
