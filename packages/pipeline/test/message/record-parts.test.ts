import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { lookUpParts } from "../../src/message/sql/look-up-parts.ts";
import { openDatabase, type Database } from "@sluice/db";
import { readJobContent, readJobDocuments } from "../../src/job/sql/read-job-documents.ts";
import { readStagedPart, stagePart } from "../../src/message/sql/stage-parts.ts";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { recordParts } from "../../src/message/sql/record-parts.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { dispatch, jobId, MODEL, NOW, open, part, record, transactionOf } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;

describe("opening a submission", () => {
  it("mints rising ids, also within a millisecond or after the clock was set back", async () => {
    const ids = [
      await open(db, {}, NOW),
      await open(db, {}, NOW),
      await open(db, {}, NOW - 5_000),
      await open(db, {}, NOW + 1),
    ];
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(4);
    for (const id of ids)
      expect(id).toMatch(/^sub_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("puts the time into the id as a UUIDv7 does", async () => {
    const id = await open(db, {}, NOW);
    expect(Number.parseInt(id.slice(4, 12) + id.slice(13, 17), 16)).toBe(NOW);
  });
});

describe("recording parts", () => {
  it("stores documents unchanged", async () => {
    const submission = await open(db, { total: 1 });
    const query = 'quotes " and \\ back, line\nbreak, é, 漢, 😀, \u007f';
    const document = { id: "a/b 漢", query, contexts: ["one\t", "two 😀"], contextIds: ["x", "1"] };
    await record(db, jobId(), [[part(submission, 0, [document])]]);
    const [row] = await rows("SELECT * FROM documents");
    expect(row).toMatchObject({
      document_id: "a/b 漢",
      collection: "default",
      submission_id: submission,
      part: 0,
      place: 0,
      query,
      context_count: 2,
      metadata: null,
    });
    const [kept] = await rows("SELECT texts FROM contexts");
    expect(JSON.parse(String(kept?.["texts"]))).toEqual([document.contexts]);
    expect(JSON.parse(String(row?.["context_ids"]))).toEqual(document.contextIds);
  });

  it("changes nothing when it is repeated after it was committed", async () => {
    const submission = await open(db, { total: 4 });
    const id = jobId();
    const lists = [[part(submission, 0, [{}, {}])], [part(submission, 1, [{}, {}], 2)]];
    expect(await record(db, id, lists)).toEqual([true, true]);
    const before = await rows("SELECT * FROM jobs");
    expect(await record(db, id, lists)).toEqual([true, true]);
    expect(await rows("SELECT * FROM jobs")).toEqual(before);
    expect(await readSubmission(db, submission)).toMatchObject({ total: 4, recorded: 4 });
  });

  it("records a part that two consumers have only in the job of the first", async () => {
    const submission = await open(db, { total: 3 });
    const [first, second] = [jobId(), jobId()];
    const shared = part(submission, 0, [{}, {}]);
    await record(db, first, [[shared]]);
    const other = part(submission, 1, [{}], 2);
    // A transaction is all or none, so the other part is redelivered.
    expect(await record(db, second, [[shared, other]])).toEqual([true, false]);
    expect(await rows("SELECT id FROM jobs")).toEqual([{ id: first }]);
    expect(await rows("SELECT count(*) AS n FROM contexts")).toEqual([{ n: 1 }]);
    expect(await record(db, second, [[other]])).toEqual([true]);
    expect(await dispatch(db, first)).toEqual([[submission, [`${submission}-0`, `${submission}-1`]]]);
    expect(await dispatch(db, second)).toEqual([[submission, [`${submission}-2`]]]);
    expect(await readSubmission(db, submission)).toMatchObject({ recorded: 3 });
  });

  it("writes nothing if the submission of a part is unknown", async () => {
    const submission = await open(db, { total: 1 });
    const stranger = submission.replace(/.$/, (last) => (last === "0" ? "1" : "0")) as typeof submission;
    expect(await record(db, jobId(), [[part(submission, 0, [{}]), part(stranger, 0, [{}])]])).toEqual([false, false]);
    for (const table of ["documents", "contexts", "parts", "jobs"])
      expect(await rows(`SELECT count(*) AS n FROM ${table}`), table).toEqual([{ n: 0 }]);
  });

  it("stores each document's texts, with several statements and many rows", async () => {
    const submission = await open(db, { total: 600 });
    const own = (index: number) => ({ contexts: [`text of ${index}`, `"${index}"`] });
    // Three parts per row of texts and two documents per part, so that 100 rows of texts are written together.
    const parts = Array.from({ length: 300 }, (_, n) => part(submission, n, [own(2 * n), own(2 * n + 1)], 2 * n));
    const shared = Array.from({ length: 100 }, (_, n) => parts.slice(3 * n, 3 * n + 3));
    const job = { id: jobId(), model: MODEL, lane: "bulk", leaseUntil: NOW } as const;
    // After another submission's, so that ids do not begin at 1.
    await record(db, jobId(), [[part(await open(db), 0, [{}])]]);
    const recorded = await recordParts(db, job, transactionOf(shared.slice(0, 30), shared.slice(30)), NOW);
    expect(new Set(recorded)).toEqual(new Set([true]));
    expect(await rows("SELECT count(*) AS n FROM contexts")).toEqual([{ n: 101 }]);
    const content = await readJobContent(db, { id: job.id, dispatchNumber: 0 });
    expect(content.map(({ index, contexts }) => ({ index, contexts })).toSorted((a, b) => a.index - b.index)).toEqual(
      Array.from({ length: 600 }, (_, index) => ({ index, ...own(index) })),
    );
  });

  it("adds to a job over several transactions, but not after its first dispatch", async () => {
    const submission = await open(db, { total: 3 });
    const id = jobId();
    await record(db, id, [[part(submission, 0, [{}])]]);
    await record(db, id, [[part(submission, 1, [{}], 1)]]);
    expect(await dispatch(db, id)).toEqual([
      [submission, [`${submission}-0`]],
      [submission, [`${submission}-1`]],
    ]);
    expect(await record(db, id, [[part(submission, 2, [{}], 2)]])).toEqual([false]);
    expect(await rows("SELECT count(*) AS n FROM documents")).toEqual([{ n: 2 }]);
    expect(await readSubmission(db, submission)).toMatchObject({ recorded: 2 });
  });

  it("distinguishes new parts, recorded parts and parts of an unknown submission", async () => {
    const submission = await open(db, { total: 2 });
    await record(db, jobId(), [[part(submission, 0, [{}])]]);
    const stranger = submission.replace(/.$/, (last) => (last === "0" ? "1" : "0")) as typeof submission;
    const asked = [0, 1].map((number) => ({ submission, part: number }));
    expect(await lookUpParts(db, [...asked, { submission: stranger, part: 0 }])).toEqual({
      statuses: ["recorded", "new", "unknown_submission"],
      room: null,
    });
  });

  it("deletes a staged part when it is recorded", async () => {
    const submission = await open(db, { total: 1 });
    const staged = part(submission, 0, [{}]);
    await stagePart(db, submission, { part: 0, body: staged.body, total: 1 }, NOW);
    await stagePart(db, submission, { part: 0, body: "another body", total: 1 }, NOW);
    expect(await readStagedPart(db, submission, 0)).toBe(staged.body);
    await record(db, jobId(), [[staged]]);
    expect(await readStagedPart(db, submission, 0)).toBeNull();
  });

  it("ends the documents of a canceled submission immediately, without a dispatch", async () => {
    const [kept, canceled] = [await open(db, { total: 1 }), await open(db, { total: 2 })];
    await env.DB.prepare("UPDATE submissions SET cancel_requested_at = ? WHERE id = ?").bind(NOW, canceled).run();
    const id = jobId();
    await record(db, id, [[part(canceled, 0, [{}, {}]), part(kept, 0, [{}])]]);
    expect(await dispatch(db, id)).toEqual([[kept, [`${kept}-0`]]]);
    expect(await readSubmission(db, canceled)).toMatchObject({ recorded: 2, canceled: 2, completedAt: NOW });
    expect(await rows("SELECT status FROM outcomes")).toEqual([{ status: "canceled" }, { status: "canceled" }]);
  });
});

describe("starting a dispatch", () => {
  it("succeeds for one of two Workers", async () => {
    const submission = await open(db, { total: 1 });
    const id = jobId();
    await record(db, id, [[part(submission, 0, [{}])]]);
    const job = { id, dispatchNumber: 0, status: "pending" } as const;
    const tries = await Promise.all(
      ["one", "two"].map((token) => startDispatch(db, job, { until: NOW + 1, token }, NOW)),
    );
    expect(tries.filter((started) => started !== null)).toHaveLength(1);
    expect(await rows("SELECT dispatch_number AS dispatchNumber, status FROM jobs")).toEqual([
      { dispatchNumber: 1, status: "dispatching" },
    ]);
  });

  it("leaves out deleted and canceled documents, and then keeps the list", async () => {
    const [kept, canceled] = [await open(db, { total: 3 }), await open(db, { total: 1 })];
    const id = jobId();
    await record(db, id, [[part(kept, 0, [{ id: "a" }, { id: "b" }, { id: "c" }]), part(canceled, 0, [{ id: "d" }])]]);
    await env.DB.prepare("DELETE FROM documents WHERE document_id = 'b'").run();
    await env.DB.prepare("UPDATE submissions SET cancel_requested_at = ? WHERE id = ?").bind(NOW, canceled).run();
    expect(await dispatch(db, id)).toEqual([[kept, ["a", "c"]]]);
    await env.DB.prepare("DELETE FROM documents WHERE document_id = 'a'").run();
    const listed = (await readJobDocuments(db, [{ id, dispatchNumber: 1 }])).get(id) ?? [];
    expect(listed.map((document) => document?.document ?? null)).toEqual([null, "c"]);
    expect(await readSubmission(db, canceled)).toMatchObject({ canceled: 1, completedAt: NOW });
  });

  it("ends a job with nothing left to send", async () => {
    const submission = await open(db, { total: 1 });
    const id = jobId();
    await record(db, id, [[part(submission, 0, [{ id: "a" }])]]);
    await env.DB.prepare("DELETE FROM documents").run();
    expect(await dispatchEmpty(id)).toEqual([]);
    expect(await rows("SELECT status, due_at FROM jobs")).toEqual([{ status: "canceled", due_at: null }]);
  });

  it("counts an interrupted dispatch as unconfirmed", async () => {
    const submission = await open(db, { total: 1 });
    const id = jobId();
    await record(db, id, [[part(submission, 0, [{}])]]);
    await startDispatch(db, { id, dispatchNumber: 0, status: "pending" }, { until: NOW + 1, token: "t" }, NOW);
    await startDispatch(
      db,
      { id, dispatchNumber: 1, status: "dispatching" },
      { until: NOW + 200_001, token: "t" },
      NOW + 200_000,
    );
    expect(await rows("SELECT dispatch_number AS dispatchNumber, unconfirmed_dispatches FROM jobs")).toEqual([
      { dispatchNumber: 2, unconfirmed_dispatches: 1 },
    ]);
  });
});

async function dispatchEmpty(id: ReturnType<typeof jobId>) {
  return (await startDispatch(db, { id, dispatchNumber: 0, status: "pending" }, { until: NOW + 1, token: "t" }, NOW))
    ?.members;
}
