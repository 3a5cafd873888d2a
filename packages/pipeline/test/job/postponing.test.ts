import { pauseDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { EVERYTHING } from "../../src/job/pause-scopes.ts";
import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import type { JobId, RequestId } from "@sluice/core";
import { claimDueJobs } from "../../src/job/sql/claim-due-jobs.ts";
import { confirmDispatch } from "../../src/job/sql/confirm-dispatch.ts";
import { openDatabase, type Database } from "@sluice/db";
import { postponeJob, type DispatchCount } from "../../src/job/sql/postpone-job.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { claimLimits, dispatch, jobId, NOW, open, part, record } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const MINUTE = 60_000;
const ERROR = { reason: "retry", message: "3040" };

const jobRow = (id: JobId) =>
  env.DB.prepare(
    "SELECT status, due_at, dispatch_number AS dispatchNumber, refusals, unconfirmed_dispatches, repeated_dispatches FROM jobs WHERE id = ?",
  )
    .bind(id)
    .first();

async function pending(): Promise<JobId> {
  const id = jobId();
  await record(db, id, [[part(await open(db), 0, [{}])]]);
  return id;
}

const start = (id: JobId, dispatchNumber: number) =>
  startDispatch(
    db,
    { id, dispatchNumber, status: "pending" },
    { until: NOW + 2 * MINUTE, token: `t${dispatchNumber}` },
    NOW,
  );

const postpone = (id: JobId, dispatchNumber: number, status: "dispatching" | "dispatched", counts: DispatchCount) =>
  postponeJob(db, { id, dispatchNumber, status }, ERROR, { dispatch: counts, refused: true }, NOW + MINUTE, NOW);

describe("postponing a job", () => {
  it("counts a refusal once if an error hid the commit and the call is repeated", async () => {
    const id = await pending();
    await start(id, 0);
    await postpone(id, 1, "dispatching", "unconfirmed");
    await postpone(id, 1, "dispatching", "unconfirmed");
    expect(await jobRow(id)).toMatchObject({ status: "pending", refusals: 1, unconfirmed_dispatches: 1 });
  });

  it("counts an abandoned batch once if an error hid the commit and the call is repeated", async () => {
    const id = await pending();
    await dispatch(db, id);
    await postpone(id, 1, "dispatched", "repeated");
    await postpone(id, 1, "dispatched", "repeated");
    expect(await jobRow(id)).toMatchObject({ status: "pending", refusals: 1, repeated_dispatches: 1 });
  });

  it("leaves a dispatched job unchanged", async () => {
    const id = await pending();
    await dispatch(db, id);
    const before = await jobRow(id);
    await postpone(id, 1, "dispatching", "unconfirmed");
    expect(await jobRow(id)).toEqual(before);
  });
});

describe("a job that waits for the end of a pause", () => {
  const hold = (id: JobId) =>
    postponeJob(
      db,
      { id, dispatchNumber: 1, status: "dispatching" },
      ERROR,
      { dispatch: "none", refused: false },
      NOW + 600 * MINUTE,
      NOW + 1,
      EVERYTHING,
    );

  it.each([
    { what: "is due when it ends", isCanceled: false, expected: { due_at: NOW + 600 * MINUTE, paused_by: EVERYTHING } },
    {
      what: "is due now if it has been canceled",
      isCanceled: true,
      expected: { due_at: NOW + 1, paused_by: null },
    },
  ])("$what", async ({ isCanceled, expected }) => {
    const [mine, other] = [await open(db), await open(db)];
    const id = jobId();
    await record(db, id, [[part(other, 0, [{ id: "b" }]), part(mine, 0, [{ id: "a" }])]]);
    await start(id, 0);
    if (isCanceled) await cancelSubmission(db, mine, NOW);
    const until = NOW + 600 * MINUTE;
    await pauseDispatching(db, { scope: EVERYTHING, reason: "daily_limit", message: null, since: NOW, until });
    await hold(id);
    expect(await env.DB.prepare("SELECT due_at, paused_by FROM jobs").first()).toEqual(expected);
  });
});

describe("consecutive refusals", () => {
  it("add up over the dispatches, and end with a dispatch that is accepted", async () => {
    const id = await pending();
    for (const dispatchNumber of [1, 2]) {
      await start(id, dispatchNumber - 1);
      await postpone(id, dispatchNumber, "dispatching", "none");
    }
    await start(id, 2);
    expect(await jobRow(id)).toMatchObject({ dispatchNumber: 3, refusals: 2 });
    await confirmDispatch(db, { id, dispatchNumber: 3 }, "request-3" as RequestId, NOW + MINUTE);
    expect(await jobRow(id)).toMatchObject({ dispatchNumber: 3, refusals: 0 });
  });
});

describe("claiming", () => {
  it("leases jobs to dispatch for one dispatch, and other jobs until their next poll", async () => {
    const [waiting, started, dispatched] = [await pending(), await pending(), await pending()];
    await start(started, 0);
    await dispatch(db, dispatched);
    const now = NOW + 5 * MINUTE;
    expect(await claimDueJobs(db, claimLimits(now), now)).toHaveLength(3);
    expect(await jobRow(waiting)).toMatchObject({ status: "pending", due_at: now + 2 * MINUTE });
    expect(await jobRow(started)).toMatchObject({ status: "dispatching", due_at: now + 2 * MINUTE });
    expect(await jobRow(dispatched)).toMatchObject({ status: "dispatched", due_at: now + MINUTE / 2 });
    expect(await claimDueJobs(db, claimLimits(now + MINUTE), now + MINUTE)).toMatchObject([{ id: dispatched }]);
  });

  it("sets the next poll to half a run, or a tenth of the age from ten runs on", async () => {
    const id = await pending();
    await dispatch(db, id);
    const waitAt = async (age: number) => {
      await env.DB.exec(`UPDATE jobs SET due_at = 0`);
      await claimDueJobs(db, claimLimits(NOW + age), NOW + age);
      return Number((await jobRow(id))?.["due_at"]) - NOW - age;
    };
    for (const age of [0, MINUTE, 10 * MINUTE - 1]) expect(await waitAt(age)).toBe(MINUTE / 2);
    expect(await waitAt(10 * MINUTE)).toBe(MINUTE);
    expect(await waitAt(120 * MINUTE)).toBe(12 * MINUTE);
    // A clock behind the one that dispatched it.
    expect(await waitAt(-MINUTE)).toBe(MINUTE / 2);
  });
});
