import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { pauseDispatching } from "../../src/job/sql/pause-dispatching.ts";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { submissionScope } from "../../src/job/pause-scopes.ts";
import { NEVER_DUE } from "../../src/job/schedule.ts";
import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import type { SubmissionId } from "@sluice/core";
import { openDatabase, type Database } from "@sluice/db";
import { separateSubmissions } from "../../src/job/sql/separate-submissions.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { countedDatabase } from "../../test-support/counted-database.ts";
import { jobId, NOW, open, part, record } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const count = (documents: number, prefix: string) =>
  Array.from({ length: documents }, (_, index) => ({ id: `${prefix}${index}` }));

/** Records a pending job with documents of three submissions. */
async function mixed() {
  const [a, b, c] = [await open(db, { total: 3 }), await open(db, { total: 2 }), await open(db, { total: 1 })];
  const id = jobId();
  await record(db, id, [[part(a, 0, count(3, "a")), part(b, 0, count(2, "b")), part(c, 0, count(1, "c"))]]);
  return { a, b, c, job: { id, dispatchNumber: 0, status: "pending" } as const };
}

const members = (...groups: readonly (readonly [SubmissionId, readonly string[]])[]) => JSON.stringify(groups);

describe("separating submissions from a job", () => {
  it("moves their documents into a separate job, with their weight", async () => {
    const { a, b, c, job } = await mixed();
    const [before] = await rows("SELECT document_count, context_count, payload_bytes FROM jobs");
    const own = jobId();
    expect(await separateSubmissions(db, job, [a, c], own, NOW + 1)).toBe("some");
    const [rest] = await rows(`SELECT * FROM jobs WHERE id = '${job.id}'`);
    const [moved] = await rows(`SELECT * FROM jobs WHERE id = '${own}'`);
    expect(rest).toMatchObject({
      members: members([b, ["b0", "b1"]]),
      document_count: 2,
      context_count: 4,
      status: "pending",
    });
    expect(moved).toMatchObject({
      members: members([a, ["a0", "a1", "a2"]], [c, ["c0"]]),
      parent_id: job.id,
      status: "pending",
      round: 1,
      dispatch_number: 0,
      document_count: 4,
      context_count: 8,
      due_at: NOW + 1,
      paused_by: null,
      created_at: NOW + 1,
    });
    expect(Number(rest?.["payload_bytes"]) + Number(moved?.["payload_bytes"])).toBe(before?.["payload_bytes"]);
  });

  it("leaves the rest with its own weight, whatever was deleted", async () => {
    const { a, b, job } = await mixed();
    for (const id of ["a1", "b1"]) await deleteDocument(db, { collection: "default", id }, NOW);
    expect(await separateSubmissions(db, job, [a], jobId(), NOW + 1)).toBe("some");
    const [rest] = await rows(`SELECT members, document_count, context_count FROM jobs WHERE id = '${job.id}'`);
    expect(JSON.parse(String(rest?.["members"]))[0]).toEqual([b, ["b0", "b1"]]);
    expect(rest).toMatchObject({ document_count: 2, context_count: 4 });
  });

  it.each([
    { what: "holds the moved documents by their pause", isCanceled: false },
    { what: "does not hold canceled documents", isCanceled: true },
  ])("$what", async ({ isCanceled }) => {
    const { a, job } = await mixed();
    const scope = submissionScope(a);
    await pauseDispatching(db, { scope, reason: "requested", message: null, since: NOW, until: null });
    if (isCanceled) await cancelSubmission(db, a, NOW);
    const own = jobId();
    expect(await separateSubmissions(db, job, [a], own, NOW + 1)).toBe("some");
    expect(await rows(`SELECT due_at, paused_by FROM jobs WHERE id = '${own}'`)).toEqual([
      isCanceled ? { due_at: NOW + 1, paused_by: null } : { due_at: NEVER_DUE, paused_by: scope },
    ]);
  });

  it("changes nothing when it is repeated with the same id", async () => {
    const { a, job } = await mixed();
    const own = jobId();
    await separateSubmissions(db, job, [a], own, NOW);
    const once = await rows("SELECT * FROM jobs ORDER BY id");
    expect(await separateSubmissions(db, job, [a], own, NOW)).toBe("some");
    expect(await rows("SELECT * FROM jobs ORDER BY id")).toEqual(once);
  });

  it("leaves a job whole that has none of theirs or only theirs, or is being dispatched", async () => {
    const { a, b, c, job } = await mixed();
    const other = await open(db);
    const before = await rows("SELECT * FROM jobs");
    expect(await separateSubmissions(db, job, [other], jobId(), NOW)).toBe("all");
    expect(await separateSubmissions(db, job, [a, b, c], jobId(), NOW)).toBe("none");
    expect(await rows("SELECT * FROM jobs")).toEqual(before);
    await startDispatch(db, job, { until: NOW, token: "t" }, NOW);
    const started = await rows("SELECT * FROM jobs");
    expect(await separateSubmissions(db, { ...job, dispatchNumber: 1, status: "dispatching" }, [a], jobId(), NOW)).toBe(
      "under_way",
    );
    expect(await separateSubmissions(db, job, [a], jobId(), NOW)).toBe("under_way");
    expect(await rows("SELECT * FROM jobs")).toEqual(started);
  });

  it("reads two rows per document", async () => {
    const [a, b] = [await open(db, { total: 400 }), await open(db, { total: 400 })];
    const id = jobId();
    await record(db, id, [[part(a, 0, count(400, "a")), part(b, 0, count(400, "b"))]]);
    const { d1, counts } = countedDatabase(env.DB);
    await separateSubmissions(openDatabase(d1), { id, dispatchNumber: 0, status: "pending" }, [a], jobId(), NOW);
    expect(counts.reduce((sum, one) => sum + one.read, 0)).toBeLessThanOrEqual(800 * 2 + 60);
  });
});
