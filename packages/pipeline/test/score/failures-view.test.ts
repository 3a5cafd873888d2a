import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import type { JobId, SubmissionId } from "@sluice/core";
import type { JobMembers } from "../../src/job/members.ts";
import { cancelSubmission } from "../../src/submission/sql/cancel-submission.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { openDatabase, readFailure, type Database } from "@sluice/db";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { dispatch, jobId, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;
const SECOND = 1_000;

async function fail(id: JobId, members: JobMembers, now: number): Promise<void> {
  const outcomes = members.flatMap(([submission, documents]) =>
    documents.map((document) => ({ submission, document, code: "model_error", message: "no" }) as const),
  );
  const end = { status: "succeeded", outcomes, children: [], tokens: null, error: null } as const;
  await finalizeJobs(db, [{ job: { id, dispatchNumber: 1, status: "dispatched" }, end }], now);
}

describe("the failures view", () => {
  interface Version {
    readonly submission: SubmissionId;
    readonly job: JobId;
  }

  async function push(now: number): Promise<Version> {
    const submission = await open(db, {}, now);
    const job = jobId(now);
    await record(db, job, [[part(submission, 0, [{ id: "a" }])]], now);
    return { submission, job };
  }

  const ends = {
    failed: async ({ job }: Version, now: number) => fail(job, await dispatch(db, job, now), now),
    succeeded: async ({ job }: Version, now: number) => {
      const members = await dispatch(db, job, now);
      await succeed(db, job, members, now);
    },
    canceled: async ({ submission, job }: Version, now: number) => {
      await cancelSubmission(db, submission, now);
      await startDispatch(db, { id: job, dispatchNumber: 0, status: "pending" }, { until: now, token: "t" }, now);
    },
    open: async () => undefined,
  };

  /** Which of a document's versions the view shows as failed, the older first. */
  async function shown(older: keyof typeof ends, newer: keyof typeof ends): Promise<number[]> {
    const versions = [await push(NOW), await push(NOW + SECOND)] as const;
    await ends[older](versions[0], NOW + 2 * SECOND);
    await ends[newer](versions[1], NOW + 3 * SECOND);
    const failures = await rows("SELECT submission_id FROM failures WHERE document_id = 'a'");
    return failures.map((row) => versions.findIndex(({ submission }) => submission === row["submission_id"]));
  }

  it.each([
    ["failed", "canceled", [0]],
    ["failed", "open", [0]],
    ["failed", "failed", [1]],
    ["failed", "succeeded", []],
    ["succeeded", "failed", [1]],
    ["canceled", "failed", [1]],
    ["succeeded", "canceled", []],
  ] as const)("for a version that %s and a newer one that is %s shows %j", async (older, newer, expected) => {
    expect(await shown(older, newer)).toEqual(expected);
  });
});

it("readFailure returns why the newest version failed, and null if it did not", async () => {
  const submission = await open(db, { total: 2 });
  const [failed, succeeded] = [jobId(), jobId()];
  await record(db, failed, [[part(submission, 0, [{ id: "bad" }])]]);
  await record(db, succeeded, [[part(submission, 1, [{ id: "good" }], 1)]]);
  await fail(failed, await dispatch(db, failed), NOW);
  await succeed(db, succeeded, await dispatch(db, succeeded));
  expect(await readFailure(db, { collection: "default", id: "bad" })).toMatchObject({
    documentId: "bad",
    submissionId: submission,
    code: "model_error",
    message: "no",
  });
  expect(await readFailure(db, { collection: "default", id: "good" })).toBeNull();
  expect(await readFailure(db, { collection: "another", id: "bad" })).toBeNull();
});
