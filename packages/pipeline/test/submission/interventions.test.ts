import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { deferJob } from "../../src/job/sql/start-dispatch.ts";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { listStagedParts, sweepSubmissions } from "../../src/submission/sql/sweep-submissions.ts";
import { openDatabase, type Database } from "@sluice/db";
import { pauseDispatching, readPauses, resumeDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { stagePart } from "../../src/message/sql/stage-parts.ts";
import { dispatch, jobId, MODEL, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const MINUTE = 60_000;

async function recorded(ids: readonly string[], now = NOW) {
  const submission = await open(db, { total: ids.length }, now);
  const id = jobId(now);
  await record(
    db,
    id,
    [
      [
        part(
          submission,
          0,
          ids.map((name) => ({ id: name })),
        ),
      ],
    ],
    now,
  );
  return { submission, id };
}

describe("canceling", () => {
  it("makes only the submission's pending jobs due", async () => {
    const [mine, other] = [await recorded(["a"]), await recorded(["b"])];
    await cancelSubmission(db, mine.submission, NOW + 1);
    expect(await rows("SELECT id, due_at FROM jobs ORDER BY id")).toEqual(
      [
        { id: mine.id, due_at: NOW + 1 },
        { id: other.id, due_at: NOW + 120_000 },
      ].toSorted((a, b) => a.id.localeCompare(b.id)),
    );
  });

  it("lets dispatched jobs finish, and does not change an ended submission", async () => {
    const { submission, id } = await recorded(["a"]);
    const members = await dispatch(db, id);
    await cancelSubmission(db, submission, NOW);
    await succeed(db, id, members);
    expect(await readSubmission(db, submission)).toMatchObject({ succeeded: 1, canceled: 0, cancelRequestedAt: NOW });
    const ended = await recorded(["b"]);
    await succeed(db, ended.id, await dispatch(db, ended.id));
    await cancelSubmission(db, ended.submission, NOW);
    expect(await readSubmission(db, ended.submission)).toMatchObject({ cancelRequestedAt: null });
  });

  it("is not delayed by a pause", async () => {
    const { submission, id } = await recorded(["a", "b"]);
    await cancelSubmission(db, submission, NOW);
    await pauseDispatching(db, { scope: "all", reason: "requested", message: null, since: NOW, until: null });
    await deferJob(db, { id, dispatchNumber: 0, status: "pending" }, { scope: "all" }, NOW);
    expect(await readSubmission(db, submission)).toMatchObject({ canceled: 2, completedAt: NOW });
    expect(await rows("SELECT status, dispatch_number AS dispatchNumber FROM jobs")).toEqual([
      { status: "canceled", dispatchNumber: 0 },
    ]);
  });
});

describe("pausing", () => {
  const pause = {
    scope: `model:${MODEL}`,
    reason: "daily_limit",
    message: "4006",
    since: NOW,
    until: NOW + MINUTE,
  } as const;

  it("is in force until its end, and a fault does not replace a requested one", async () => {
    await pauseDispatching(db, pause);
    expect(await readPauses(db, NOW)).toEqual([pause]);
    expect(await readPauses(db, NOW + MINUTE)).toEqual([]);
    const requested = { ...pause, reason: "requested", message: null, until: null } as const;
    await pauseDispatching(db, requested);
    await pauseDispatching(db, pause);
    expect(await readPauses(db, NOW + MINUTE)).toEqual([requested]);
  });

  it("keeps its start when repeated, and its message unless there is a new one", async () => {
    const requested = (message: string | null, since: number) =>
      pauseDispatching(db, { scope: pause.scope, reason: "requested", message, since, until: null });
    await pauseDispatching(db, pause);
    await requested("too expensive", NOW + 1);
    const kept = { scope: pause.scope, reason: "requested", message: "too expensive", since: NOW + 1, until: null };
    expect(await readPauses(db, NOW)).toEqual([kept]);
    await requested(null, NOW + 2);
    expect(await readPauses(db, NOW)).toEqual([kept]);
    await requested("on holiday", NOW + 3);
    expect(await readPauses(db, NOW)).toEqual([{ ...kept, message: "on holiday" }]);
  });

  it("does not keep a fault's message when a person requests it", async () => {
    await pauseDispatching(db, pause);
    await pauseDispatching(db, { ...pause, reason: "requested", message: null, until: null });
    expect(await readPauses(db, NOW)).toMatchObject([{ reason: "requested", message: null }]);
  });

  it("is returned when it is ended, if it was in force", async () => {
    await pauseDispatching(db, pause);
    expect(await resumeDispatching(db, pause.scope, NOW)).toEqual(pause);
    expect(await resumeDispatching(db, pause.scope, NOW)).toBeNull();
    await pauseDispatching(db, pause);
    expect(await resumeDispatching(db, pause.scope, NOW + MINUTE)).toBeNull();
  });
});

describe("the sweep", () => {
  const times = (now: number) => ({
    now,
    settledBy: now - 10 * MINUTE,
    abandonedBefore: now - 60 * MINUTE,
    lostBefore: now - 1_000 * MINUTE,
  });

  it("closes a push that was interrupted an hour ago, with the documents sent", async () => {
    const submission = await open(db, { total: 1, closed: false });
    const fresh = await open(db, { total: 1, closed: false }, NOW + 30 * MINUTE);
    await record(db, jobId(), [[part(submission, 0, [{ id: "a" }])]]);
    await sweepSubmissions(db, times(NOW + 61 * MINUTE));
    expect(await readSubmission(db, submission)).toMatchObject({
      closedAt: NOW + 61 * MINUTE,
      incomplete: true,
      total: 1,
    });
    expect(await readSubmission(db, fresh)).toMatchObject({ closedAt: null, incomplete: false });
    await sweepSubmissions(db, times(NOW + 95 * MINUTE));
    expect(await readSubmission(db, fresh)).toMatchObject({ incomplete: true });
  });

  it("counts documents as lost that no message can deliver, and a late arrival undoes it", async () => {
    const submission = await open(db, { total: 2 });
    await record(db, jobId(), [[part(submission, 0, [{ id: "a" }])]]);
    await deleteDocument(db, { collection: "default", id: "a" }, NOW);
    await sweepSubmissions(db, times(NOW + 999 * MINUTE));
    expect(await readSubmission(db, submission)).toMatchObject({ lost: 0, completedAt: null });
    await sweepSubmissions(db, times(NOW + 1_001 * MINUTE));
    expect(await readSubmission(db, submission)).toMatchObject({ lost: 1, completedAt: NOW + 1_001 * MINUTE });
    expect(await rows("SELECT * FROM watched_submissions")).toEqual([]);
    const late = jobId();
    await record(db, late, [[part(submission, 1, [{ id: "b" }], 1)]], NOW + 1_002 * MINUTE);
    expect(await readSubmission(db, submission)).toMatchObject({ lost: 0, recorded: 2, completedAt: null });
    await succeed(db, late, await dispatch(db, late), NOW + 1_003 * MINUTE);
    expect(await readSubmission(db, submission)).toMatchObject({
      succeeded: 1,
      canceled: 1,
      completedAt: NOW + 1_003 * MINUTE,
    });
  });

  it("does not read settled submissions again", async () => {
    const { id } = await recorded(["a"]);
    await succeed(db, id, await dispatch(db, id));
    await sweepSubmissions(db, times(NOW + 11 * MINUTE));
    const [sweep] = await rows("SELECT swept_through FROM sweeps");
    expect(sweep).toEqual({ swept_through: (await rows("SELECT max(id) AS id FROM submissions"))[0]?.["id"] });
    expect(await rows("SELECT * FROM watched_submissions")).toEqual([]);
  });

  it("finds staged parts whose message does not arrive", async () => {
    const submission = await open(db, { total: 1 });
    const { body } = part(submission, 0, [{ id: "a" }]);
    await stagePart(db, submission, { part: 0, body, total: 1 }, NOW);
    expect(await listStagedParts(db, NOW, 9)).toEqual([]);
    expect(await listStagedParts(db, NOW + 1, 9)).toEqual([{ submission, part: 0, body }]);
  });
});
