import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { EVERYTHING, modelScope, submissionScope } from "../../src/job/pause-scopes.ts";
import { NEVER_DUE, RELEASE_SPACING_MS } from "../../src/job/schedule.ts";
import type { SubmissionId } from "@sluice/core";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { claimAtStart, claimDueJobs } from "../../src/job/sql/claim-due-jobs.ts";
import { deferJob, startDispatch } from "../../src/job/sql/start-dispatch.ts";
import {
  dropEndedPauses,
  holdPausedJobs,
  pauseDispatching,
  resumeDispatching,
} from "../../src/job/sql/pause-dispatching.ts";
import { openDatabase, type Database } from "@sluice/db";
import { separateSubmissions } from "../../src/job/sql/separate-submissions.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { claimLimits, dispatch, jobId, MODEL, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";

const MINUTE = 60_000;
const LEASE = { until: NOW + 2 * MINUTE, token: "t" };

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const states = () => rows("SELECT id, due_at, paused_by FROM jobs ORDER BY id");
const pause = (scope: string) =>
  pauseDispatching(db, { scope, reason: "requested", message: null, since: NOW, until: null });
const pending = (id: ReturnType<typeof jobId>) => ({ id, dispatchNumber: 0, status: "pending" }) as const;
const claim = async (now: number, pausesEndedBy = now - MINUTE) =>
  (await claimAtStart(db, claimLimits(now), now, pausesEndedBy)).jobs;

/** Creates a pending job of one document, due at `NOW + 2 * MINUTE`. */
async function recorded(id: string): Promise<{ submission: SubmissionId; id: ReturnType<typeof jobId> }> {
  const submission = await open(db);
  const job = jobId();
  await record(db, job, [[part(submission, 0, [{ id }])]]);
  return { submission, id: job };
}

describe("a job held by a pause", () => {
  it("is never due during the pause, and costs the claim of others no row", async () => {
    const claimRows = async () => {
      const { d1, counts } = countedDatabase(env.DB);
      expect(await claimDueJobs(openDatabase(d1), claimLimits(NOW), NOW + 1_000 * MINUTE)).toEqual([]);
      return counts.reduce((sum, one) => sum + one.read + one.written, 0);
    };
    const rowsOfNone = await claimRows();
    await pause(EVERYTHING);
    for (let n = 0; n < 20; n += 1) {
      const { id } = await recorded(`d${n}`);
      expect(await holdPausedJobs(db, { kind: "everything" }, [id], NOW)).toEqual([id]);
    }
    expect(await claimRows()).toBe(rowsOfNone);
  });

  it("is released with its pause, spread out, while other jobs keep their time", async () => {
    const [a, b, other] = [await recorded("a"), await recorded("b"), await recorded("c")];
    await pause(modelScope(MODEL));
    await holdPausedJobs(db, { kind: "model", model: MODEL }, [a.id, b.id], NOW);
    await resumeDispatching(db, EVERYTHING, NOW + 1);
    expect(await states()).toMatchObject([{ due_at: NEVER_DUE }, { due_at: NEVER_DUE }, { due_at: NOW + 2 * MINUTE }]);
    await resumeDispatching(db, modelScope(MODEL), NOW + 5);
    expect(await states()).toEqual([
      { id: a.id, due_at: NOW + 5, paused_by: null },
      { id: b.id, due_at: NOW + 5 + RELEASE_SPACING_MS, paused_by: null },
      { id: other.id, due_at: NOW + 2 * MINUTE, paused_by: null },
    ]);
  });

  it("is due immediately if the pause ended before it was held", async () => {
    const [a, b] = [await recorded("a"), await recorded("b")];
    expect(await holdPausedJobs(db, { kind: "everything" }, [a.id], NOW)).toEqual([]);
    await deferJob(db, pending(b.id), { scope: EVERYTHING }, NOW + 7);
    expect(await states()).toMatchObject([{ paused_by: null }, { due_at: NOW + 7, paused_by: null }]);
  });

  it("is canceled immediately, and its other documents stay held", async () => {
    const [mine, other] = [await open(db), await open(db)];
    const id = jobId();
    await record(db, id, [[part(mine, 0, [{ id: "a" }]), part(other, 0, [{ id: "b" }])]]);
    await pause(EVERYTHING);
    await holdPausedJobs(db, { kind: "everything" }, [id], NOW);
    await cancelSubmission(db, mine, NOW + 1);
    expect(await claim(NOW + 1)).toMatchObject([{ id }]);
    // It needs its own step first.
    expect(await holdPausedJobs(db, { kind: "everything" }, [id], NOW + 1)).toEqual([]);
    await deferJob(db, pending(id), { scope: EVERYTHING }, NOW + 1);
    expect(await rows(`SELECT canceled FROM submissions WHERE id = '${mine}'`)).toEqual([{ canceled: 1 }]);
    expect(await rows("SELECT document_count, due_at, paused_by FROM jobs")).toEqual([
      { document_count: 1, due_at: NEVER_DUE, paused_by: EVERYTHING },
    ]);
  });

  it("is no longer held once a dispatch starts", async () => {
    const { id } = await recorded("a");
    await pause(EVERYTHING);
    await holdPausedJobs(db, { kind: "everything" }, [id], NOW);
    await startDispatch(db, pending(id), LEASE, NOW);
    expect(await states()).toEqual([{ id, due_at: LEASE.until, paused_by: null }]);
  });
});

describe("holding the jobs of paused submissions", () => {
  it("takes those with no other documents, and names the pause that will release them", async () => {
    const [a, b, c] = [await recorded("a"), await recorded("b"), await recorded("c")];
    const mixed = jobId();
    const [x, y] = [await open(db), await open(db)];
    await record(db, mixed, [[part(x, 0, [{ id: "x" }]), part(y, 0, [{ id: "y" }])]]);
    for (const submission of [a.submission, b.submission, x]) await pause(submissionScope(submission));
    const paused = { kind: "submissions", submissionIds: [a.submission, b.submission, x] } as const;
    expect(await holdPausedJobs(db, paused, [a.id, b.id, c.id, mixed], NOW)).toEqual([a.id, b.id]);
    await separateSubmissions(db, pending(mixed), [a.submission, x], jobId(), NOW);
    expect((await states()).map((job) => job["paused_by"])).toEqual([
      submissionScope(a.submission),
      submissionScope(b.submission),
      null,
      null,
      submissionScope(x),
    ]);
    await deferJob(db, pending(c.id), "first_submission", NOW);
    expect((await states()).map((job) => job["paused_by"])[2]).toBeNull();
    await resumeDispatching(db, submissionScope(x), NOW + 9);
    expect(await rows(`SELECT due_at FROM jobs WHERE parent_id = '${mixed}'`)).toEqual([{ due_at: NOW + 9 }]);
  });

  it("also holds unclaimed due jobs, in one statement that reads 15 rows per job", async () => {
    const submission = await open(db, { total: 200 });
    for (let n = 0; n < 200; n += 1) await record(db, jobId(), [[part(submission, n, [{ id: `d${n}` }], n)]]);
    await env.DB.prepare("UPDATE jobs SET due_at = ?").bind(NOW).run();
    await pause(submissionScope(submission));
    const { d1, counts } = countedDatabase(env.DB);
    const paused = { kind: "submissions", submissionIds: [submission] } as const;
    expect(await holdPausedJobs(openDatabase(d1), paused, [], NOW)).toHaveLength(200);
    expect(counts).toHaveLength(1);
    expect(counts[0]?.read).toBeLessThanOrEqual(200 * 15);
    expect(await claim(NOW)).toEqual([]);
  });

  it("releases them with the pause when the submission ends", async () => {
    const [a, b] = [await recorded("a"), await recorded("b")];
    await pause(submissionScope(a.submission));
    await holdPausedJobs(db, { kind: "submissions", submissionIds: [a.submission] }, [a.id], NOW);
    await dropEndedPauses(db, NOW + 1);
    expect(await states()).toMatchObject([{ due_at: NEVER_DUE }, {}]);
    await env.DB.prepare("UPDATE jobs SET paused_by = ?1, due_at = ?2 WHERE id = ?3")
      .bind(submissionScope(b.submission), NEVER_DUE, a.id)
      .run();
    await pause(submissionScope(b.submission));
    await succeed(db, b.id, await dispatch(db, b.id));
    await dropEndedPauses(db, NOW + 1);
    expect(await rows(`SELECT due_at, paused_by FROM jobs WHERE id = '${a.id}'`)).toEqual([
      { due_at: NOW + 1, paused_by: null },
    ]);
  });
});

it("releases a job whose pause was deleted by hand, without reading held jobs", async () => {
  const readRows = async () => {
    const { d1, counts } = countedDatabase(env.DB);
    await dropEndedPauses(openDatabase(d1), NOW + 1);
    return counts.reduce((sum, one) => sum + one.read, 0);
  };
  await pause(EVERYTHING);
  const hold = async (id: string) => holdPausedJobs(db, { kind: "everything" }, [(await recorded(id)).id], NOW);
  await hold("a");
  const rowsOfOne = await readRows();
  await hold("b");
  await hold("c");
  expect(await readRows()).toBe(rowsOfOne);
  await env.DB.exec("DELETE FROM pauses");
  await dropEndedPauses(db, NOW + 1);
  expect((await states()).map((job) => job["due_at"])).toEqual(
    [0, 1, 2].map((rank) => NOW + 1 + rank * RELEASE_SPACING_MS),
  );
});

describe("a pause after a fault", () => {
  const until = NOW + 15 * MINUTE;
  const fault = { scope: modelScope(MODEL), reason: "configuration", message: "10000", since: NOW, until } as const;

  it("releases its jobs one run after its end, unless the fault occurred again", async () => {
    const { id } = await recorded("a");
    await pauseDispatching(db, fault);
    await holdPausedJobs(db, { kind: "model", model: MODEL }, [id], NOW);
    expect(await claim(until)).toEqual([]);
    await pauseDispatching(db, { ...fault, until: until + 15 * MINUTE });
    expect(await claim(until + MINUTE)).toEqual([]);
    expect(await claim(until + 16 * MINUTE)).toMatchObject([{ id }]);
    expect(await rows("SELECT * FROM pauses")).toEqual([]);
  });
});
