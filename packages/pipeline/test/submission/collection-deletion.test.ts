import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import type { SubmissionId } from "@sluice/core";
import { recordParts } from "../../src/message/sql/record-parts.ts";
import { continueDeletion } from "../../src/submission/continue-deletion.ts";
import { readDeletion, requestDeletion } from "../../src/submission/sql/request-deletion.ts";
import { requestRetry } from "../../src/submission/sql/request-retry.ts";
import { nextRun, runUntilDone } from "../../test-support/drive.ts";
import { dispatch, jobId, MODEL, succeed, transactionOf, type TestDocument } from "../../test-support/fixtures.ts";
import { counters, documents, jobs, NOW, open, part, rows } from "../../test-support/index.ts";
import { context, it } from "../../test-support/pipeline-test.ts";

const COLLECTION = "old";

/** Records documents as one submission in one job; with `isScored`, they get scores. */
async function record(list: readonly TestDocument[], collection = COLLECTION, isScored = true, now = NOW) {
  const submission = await open(context.db, { total: list.length, collection }, now);
  const job = { id: jobId(now), model: MODEL, lane: "bulk", leaseUntil: now + 120_000 } as const;
  await recordParts(context.db, job, transactionOf([[part(submission, 0, list, 0, collection)]]), now);
  if (isScored) await succeed(context.db, job.id, await dispatch(context.db, job.id, now), now);
  return { submission, job: job.id };
}

const request = () => requestDeletion(context.db, COLLECTION, context.now());

/** Takes all steps, each by a Worker that knows only what is in D1. */
async function finish(): Promise<number> {
  for (let steps = 1; steps < 100; steps += 1) {
    const deletion = await readDeletion(context.db, COLLECTION);
    if (deletion === null || deletion.completedAt !== null) return steps - 1;
    await continueDeletion(context, deletion, 1);
  }
  throw new Error("the deletion does not end");
}

const left = async (table: string) => rows(env.DB, `SELECT * FROM ${table} ORDER BY 1`);
const idsLeft = async () =>
  (
    await rows<{ document_id: string }>(env.DB, "SELECT document_id FROM documents ORDER BY collection, document_id")
  ).map((row) => row.document_id);
const row = async (submission: SubmissionId) =>
  (await rows(env.DB, `SELECT * FROM submissions WHERE id = '${submission}'`))[0];

describe("deleting a collection", () => {
  it("deletes its documents, scores and texts up to the request, and nothing else", async () => {
    const first = await record(documents("a", 3));
    const second = await record(documents("a", 2), COLLECTION, true, NOW + 1);
    const other = await record(documents("o", 2), "other", true, NOW + 2);
    const deletion = await request();
    expect(deletion).toMatchObject({ through: other.submission, deletedDocuments: 0, completedAt: null });
    const later = await record(documents("l", 1), COLLECTION, true, NOW + 3);
    await finish();
    expect(await readDeletion(context.db, COLLECTION)).toMatchObject({
      through: other.submission,
      deletedDocuments: 5,
      completedAt: NOW,
    });
    expect(await idsLeft()).toEqual(["l0", "o0", "o1"]);
    expect(await left("outcomes")).toHaveLength(3);
    expect(await left("contexts")).toHaveLength(2);
    expect(JSON.stringify(await left("contexts"))).not.toContain("of a");
    expect(await row(first.submission)).toMatchObject({ succeeded: 3, forgotten: 3, canceled: 0, completed_at: NOW });
    expect(await row(second.submission)).toMatchObject({ succeeded: 2, forgotten: 2 });
    for (const { submission } of [other, later]) expect(await row(submission)).toMatchObject({ forgotten: 0 });
  });

  it("rewrites a row of texts that it shares with another collection", async () => {
    const [mine, others] = [documents("a", 2), documents("o", 2)];
    const first = await open(context.db, { total: 2, collection: COLLECTION });
    const second = await open(context.db, { total: 2, collection: "other" }, NOW + 1);
    const parts = [part(first, 0, mine, 0, COLLECTION), part(second, 0, others, 0, "other")];
    const job = { id: jobId(), model: MODEL, lane: "bulk", leaseUntil: NOW } as const;
    await recordParts(context.db, job, transactionOf([parts]), NOW);
    await request();
    await finish();
    expect(await rows(env.DB, "SELECT texts FROM contexts")).toEqual([
      { texts: JSON.stringify([null, null, ...others.map(({ contexts }) => contexts)]) },
    ]);
    await runUntilDone(context);
    expect(await counters(env.DB, second)).toMatchObject({ succeeded: 2, canceled: 0, completed: true });
    expect(await counters(env.DB, first)).toMatchObject({ succeeded: 0, canceled: 2, completed: true });
  });

  it("counts documents in progress as canceled, and drops their answer", async () => {
    const { submission, job } = await record(documents("a", 2), COLLECTION, false);
    const members = await dispatch(context.db, job);
    const waiting = await record(documents("w", 2), COLLECTION, false, NOW + 1);
    await request();
    await finish();
    expect(await succeed(context.db, job, members)).toBe(true);
    await nextRun(context);
    expect(await left("outcomes")).toEqual([]);
    expect((await jobs(env.DB)).map(({ status }) => status)).toEqual(["succeeded", "canceled"]);
    for (const one of [submission, waiting.submission])
      expect(await row(one)).toMatchObject({ succeeded: 0, canceled: 2, forgotten: 2, cancel_requested_at: NOW });
  });

  it("deletes versions whose parts are gone, beside newer ones that stay", async () => {
    await record(documents("a", 5));
    await record(documents("a", 3), COLLECTION, true, NOW + 1);
    await env.DB.exec("DELETE FROM parts");
    await request();
    const newer = await record(documents("a", 2), COLLECTION, true, NOW + 2);
    await finish();
    expect(await rows(env.DB, "SELECT document_id, submission_id FROM documents ORDER BY document_id")).toEqual(
      ["a0", "a1"].map((id) => ({ document_id: id, submission_id: newer.submission })),
    );
    expect(await left("contexts")).toHaveLength(1);
    expect(await readDeletion(context.db, COLLECTION)).toMatchObject({ deletedDocuments: 8, completedAt: NOW });
  });

  it("ends retries, and allows no new one", async () => {
    const { submission, job } = await record(documents("a", 2), COLLECTION, false);
    await dispatch(context.db, job);
    await env.DB.exec(
      "INSERT INTO outcomes (collection, document_id, submission_id, status, model, attempts, job_id, code, message, finalized_at) " +
        `SELECT collection, document_id, submission_id, 'failed', 'm', 1, '${job}', 'model_error', 'm', 1 FROM documents`,
    );
    await env.DB.exec("UPDATE submissions SET failed = 2, completed_at = 1");
    expect(await requestRetry(context.db, { submission, code: "", token: "t" }, NOW)).not.toBeNull();
    await request();
    expect(await left("retries")).toEqual([]);
    expect(await requestRetry(context.db, { submission, code: "", token: "u" }, NOW)).toBeNull();
    await finish();
    expect(await row(submission)).toMatchObject({ failed: 2, canceled: 0, forgotten: 2, completed_at: 1 });
  });

  it("extends to newer submissions if requested again in progress, and begins anew after its end", async () => {
    await record(documents("a", 2));
    const started = await request();
    // It has canceled, and deleted the documents of the parts.
    for (let step = 0; step < 2; step += 1) {
      const deletion = await readDeletion(context.db, COLLECTION);
      if (deletion !== null) await continueDeletion(context, deletion, 1);
    }
    const second = await record(documents("b", 2), COLLECTION, false, NOW + 1);
    context.clock.now += 5;
    expect(await request()).toMatchObject({
      through: second.submission,
      requestedAt: started?.requestedAt,
      deletedDocuments: 2,
    });
    await finish();
    expect(await readDeletion(context.db, COLLECTION)).toMatchObject({ deletedDocuments: 4, completedAt: NOW + 5 });
    const third = await record(documents("c", 3), COLLECTION, true, NOW + 6);
    context.clock.now += 5;
    expect(await request()).toMatchObject({
      through: third.submission,
      requestedAt: NOW + 10,
      deletedDocuments: 0,
      completedAt: null,
    });
    await finish();
    expect(await readDeletion(context.db, COLLECTION)).toMatchObject({ deletedDocuments: 3 });
    expect(await idsLeft()).toEqual([]);
  });

  it("is continued by every run of the poller", async () => {
    const { submission } = await record(documents("a", 3), COLLECTION, false);
    await request();
    await nextRun(context);
    expect(await readDeletion(context.db, COLLECTION)).toMatchObject({
      deletedDocuments: 3,
      completedAt: context.now(),
    });
    await nextRun(context);
    expect((await jobs(env.DB)).map(({ status }) => status)).toEqual(["canceled"]);
    expect(await counters(env.DB, submission)).toMatchObject({ canceled: 3, completed: true });
    const events = context.events.filter(({ event }) => event === "deletion_continued");
    expect(events).toEqual([
      { event: "deletion_continued", collection: COLLECTION, through: submission, documents: 3, complete: true },
    ]);
  });
});
