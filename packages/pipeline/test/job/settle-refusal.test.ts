import { env } from "cloudflare:test";
import type { JobId } from "@sluice/core";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { readJobContent } from "../../src/job/sql/read-job-documents.ts";
import type { Refusal } from "@sluice/inference";
import { describe, expect, it } from "vitest";
import { dispatchJob } from "../../src/job/dispatch-job.ts";
import { settleRefusal } from "../../src/job/settle-refusal.ts";
import { BatchService, counters, documents, jobs, NOW, recordJob, rows, testIo } from "../../test-support/index.ts";

const INVALID: Refusal = {
  class: "invalid",
  code: 5006,
  message: "one of them is too odd",
  retryAfterSeconds: null,
  mayBeRunning: false,
};

/** A job of these documents with a batch that the service took in, some of whose documents were deleted since. */
async function dispatched(count: number, deleted: readonly string[]) {
  const io = testIo(env.DB, new BatchService());
  const { submission, job } = await recordJob(io.db, documents("d", count), { now: NOW, dueAt: NOW });
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
  await dispatchJob(io, fresh, await readJobContent(io.db, { id: job, dispatchNumber: 0 }));
  for (const id of deleted) await deleteDocument(io.db, { collection: "default", id }, NOW);
  const left = documents("d", count).flatMap(({ id }) => (deleted.includes(id) ? [] : [id]));
  const dispatchNumber = {
    ...fresh,
    dispatchNumber: 1,
    status: "dispatched",
    members: [[submission, left]],
    sent: count,
  } as const;
  return { io, submission, job, dispatchNumber };
}

const childrenOf = async (job: JobId) => (await jobs(env.DB)).filter(({ parent }) => parent === job);
const statusOf = async (job: JobId) => (await jobs(env.DB)).find(({ id }) => id === job)?.status;

describe("a batch that is refused as invalid", () => {
  it("does not say so of the one document that is left of it: the bad one may have been deleted", async () => {
    const { io, submission, job, dispatchNumber } = await dispatched(2, ["d0"]);
    await settleRefusal(io, dispatchNumber, INVALID);
    expect(await statusOf(job)).toBe("split");
    expect(await childrenOf(job)).toMatchObject([{ status: "pending", round: 1, documents: ["d1"] }]);
    expect(await rows(env.DB, "SELECT * FROM outcomes")).toEqual([]);
    expect(await counters(env.DB, submission)).toMatchObject({ failed: 0, canceled: 1, completed: false });
  });

  it("is refused for that document, where it was sent alone", async () => {
    const { io, submission, job, dispatchNumber } = await dispatched(1, []);
    await settleRefusal(io, dispatchNumber, INVALID);
    expect(await statusOf(job)).toBe("failed");
    expect(await rows(env.DB, "SELECT document_id, code, message FROM outcomes")).toEqual([
      { document_id: "d0", code: "invalid_input", message: INVALID.message },
    ]);
    expect(await counters(env.DB, submission)).toMatchObject({ failed: 1, completed: true });
  });

  it("ends without a piece where nothing is left of it", async () => {
    const { io, submission, job, dispatchNumber } = await dispatched(2, ["d0", "d1"]);
    await settleRefusal(io, { ...dispatchNumber, members: [] }, INVALID);
    expect(await jobs(env.DB)).toMatchObject([{ id: job, status: "split" }]);
    expect(await counters(env.DB, submission)).toMatchObject({ canceled: 2, completed: true });
  });

  it("that another Worker settled already changes nothing", async () => {
    const { io, job, dispatchNumber } = await dispatched(4, []);
    await settleRefusal(io, dispatchNumber, INVALID);
    await settleRefusal(io, dispatchNumber, INVALID);
    expect(await childrenOf(job)).toMatchObject([{ documents: ["d0", "d1"] }, { documents: ["d2", "d3"] }]);
  });
});
