import { env } from "cloudflare:test";
import type { JobId } from "@sluice/core";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { readJobContent } from "../../src/job/sql/read-job-documents.ts";
import type { Refusal } from "@sluice/inference";
import { describe, expect } from "vitest";
import { dispatchJob } from "../../src/job/dispatch-job.ts";
import { settleRefusal } from "../../src/job/settle-refusal.ts";
import { counters, documents, jobs, NOW, recordJob, rows } from "../../test-support/index.ts";
import { context, it } from "../../test-support/pipeline-test.ts";

const INVALID: Refusal = {
  class: "invalid",
  code: 5006,
  message: "one of them is too odd",
  retryAfterSeconds: null,
  mayBeRunning: false,
};

/** Records a job of these documents with an accepted batch. Some of its documents were deleted since. */
async function dispatched(count: number, deleted: readonly string[]) {
  const { submission, job } = await recordJob(context.db, documents("d", count), { now: NOW, dueAt: NOW });
  const fresh = {
    id: job,
    model: "@cf/baai/bge-m3",
    status: "pending",
    dispatchNumber: 0,
    round: 1,
    refusals: 0,
    batches: 0,
    halvings: 0,
  } as const;
  await dispatchJob(context, fresh, await readJobContent(context.db, { id: job, dispatchNumber: 0 }));
  for (const id of deleted) await deleteDocument(context.db, { collection: "default", id }, NOW);
  const left = documents("d", count).flatMap(({ id }) => (deleted.includes(id) ? [] : [id]));
  const dispatchNumber = {
    ...fresh,
    dispatchNumber: 1,
    status: "dispatched",
    members: [[submission, left]],
    sent: count,
  } as const;
  return { context, submission, job, dispatchNumber };
}

const childrenOf = async (job: JobId) => (await jobs(env.DB)).filter(({ parent }) => parent === job);
const statusOf = async (job: JobId) => (await jobs(env.DB)).find(({ id }) => id === job)?.status;

describe("a batch that is refused as invalid", () => {
  it("does not blame its last document, because the bad one may have been deleted", async () => {
    const { context, submission, job, dispatchNumber } = await dispatched(2, ["d0"]);
    await settleRefusal(context, dispatchNumber, INVALID);
    expect(await statusOf(job)).toBe("split");
    expect(await childrenOf(job)).toMatchObject([{ status: "pending", round: 1, documents: ["d1"] }]);
    expect(await rows(env.DB, "SELECT * FROM outcomes")).toEqual([]);
    expect(await counters(env.DB, submission)).toMatchObject({ failed: 0, canceled: 1, completed: false });
  });

  it("blames a document that was sent alone", async () => {
    const { context, submission, job, dispatchNumber } = await dispatched(1, []);
    await settleRefusal(context, dispatchNumber, INVALID);
    expect(await statusOf(job)).toBe("failed");
    expect(await rows(env.DB, "SELECT document_id, code, message FROM outcomes")).toEqual([
      { document_id: "d0", code: "invalid_input", message: INVALID.message },
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({ failed: 1, completed: true });
  });

  it("ends without pieces if none of its documents are left", async () => {
    const { context, submission, job, dispatchNumber } = await dispatched(2, ["d0", "d1"]);
    await settleRefusal(context, { ...dispatchNumber, members: [] }, INVALID);
    expect(await jobs(env.DB)).toMatchObject([{ id: job, status: "split" }]);
    expect(await counters(env.DB, submission)).toMatchObject({ canceled: 2, completed: true });
  });

  it("changes nothing if another Worker settled it already", async () => {
    const { context, job, dispatchNumber } = await dispatched(4, []);
    await settleRefusal(context, dispatchNumber, INVALID);
    await settleRefusal(context, dispatchNumber, INVALID);
    expect(await childrenOf(job)).toMatchObject([{ documents: ["d0", "d1"] }, { documents: ["d2", "d3"] }]);
  });
});
