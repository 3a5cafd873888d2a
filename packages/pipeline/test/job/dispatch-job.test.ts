import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import { dispatchLease } from "../../src/job/schedule.ts";
import { externalReference, type JobId } from "@sluice/core";
import { readJobContent, type DocumentContent } from "../../src/job/sql/read-job-documents.ts";
import { document, documents, jobs, NOW, onlyJob, recordJob } from "../../test-support/index.ts";
import { dispatchJob, type DispatchableJob } from "../../src/job/dispatch-job.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const DISPATCH_LEASE_MS = dispatchLease(60_000);

const record = (list: Parameters<typeof recordJob>[1]) =>
  recordJob(context.db, list, { now: NOW, dueAt: NOW + DISPATCH_LEASE_MS });
const pending = (id: JobId): DispatchableJob => ({
  id,
  model: "@cf/baai/bge-m3",
  status: "pending",
  dispatchNumber: 0,
  round: 1,
  refusals: 0,
  batches: 0,
  halvings: 0,
});
const content = (id: JobId, dispatchNumber = 0): Promise<DocumentContent[]> =>
  readJobContent(context.db, { id, dispatchNumber });

describe("dispatching a job", () => {
  it("makes no call that may outlast its lease when D1 was slow", async () => {
    const { job } = await record(documents("d", 3));
    // The first reading is when the dispatch starts. D1 takes 61 s for it.
    let asked = 0;
    const slow = { ...context, now: () => NOW + (asked++ === 0 ? 0 : 61_000) };
    expect(await dispatchJob(slow, pending(job), await content(job))).toBe("refused");
    expect(service.submits).toEqual([]);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "pending",
      dispatchNumber: 1,
      unconfirmed: 0,
      dueAt: NOW + 61_000,
    });
    context.clock.now = NOW + 62_000;
    expect(await dispatchJob(context, { ...pending(job), dispatchNumber: 1 }, await content(job, 1))).toBe(
      "dispatched",
    );
  });

  it("stores the dispatch and its list before the call, and the request_id after", async () => {
    const { job } = await record(documents("d", 3));
    let during: unknown;
    service.onSubmit = async () => {
      during = await onlyJob(env.DB);
    };
    expect(await dispatchJob(context, pending(job), await content(job))).toBe("dispatched");
    expect(during).toMatchObject({
      status: "dispatching",
      dispatchNumber: 1,
      requestId: null,
      dueAt: NOW + DISPATCH_LEASE_MS,
      documents: ["d0", "d1", "d2"],
    });
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "dispatched",
      dispatchNumber: 1,
      requestId: "batch-1",
      dueAt: NOW + 10_000,
      documents: ["d0", "d1", "d2"],
      unconfirmed: 0,
    });
  });

  it("sends the stored list in its order, whatever the order of the content", async () => {
    const { submission, job } = await record(documents("d", 5));
    await dispatchJob(context, pending(job), (await content(job)).toReversed());
    expect(service.submits.map((call) => call.requests)).toEqual([
      documents("d", 5).map(({ query, contexts }, index) => ({
        query,
        contexts: contexts.map((text) => ({ text })),
        truncate_inputs: true,
        external_reference: externalReference(submission, index),
      })),
    ]);
  });

  it("leaves out documents that were deleted after the content was read", async () => {
    const { job } = await record(documents("d", 3));
    const read = await content(job);
    await env.DB.exec("DELETE FROM documents WHERE document_id = 'd1'");
    await dispatchJob(context, pending(job), read);
    expect(service.submits[0]?.requests.map(({ query }) => query)).toEqual([
      document("d0").query,
      document("d2").query,
    ]);
    expect((await onlyJob(env.DB)).documents).toEqual(["d0", "d2"]);
  });

  it("makes no call when nothing is left to send", async () => {
    const { job } = await record(documents("d", 2));
    const read = await content(job);
    await env.DB.exec("DELETE FROM documents");
    expect(await dispatchJob(context, pending(job), read)).toBe("canceled");
    expect(service.calls).toEqual([]);
    expect(await onlyJob(env.DB)).toMatchObject({ status: "canceled", dueAt: null });
  });

  it("makes no call when another dispatch was started", async () => {
    const { job } = await record(documents("d", 2));
    const read = await content(job);
    await dispatchJob(context, pending(job), read);
    const before = await jobs(env.DB);
    expect(await dispatchJob(context, pending(job), read)).toBe("superseded");
    expect(service.submits).toHaveLength(1);
    expect(await jobs(env.DB)).toEqual(before);
  });

  it("drops the request_id of a replaced dispatch", async () => {
    const { job } = await record(documents("d", 2));
    const read = await content(job);
    const late = Promise.withResolvers<unknown>();
    const called = Promise.withResolvers<void>();
    service.onSubmit = () => {
      service.onSubmit = null;
      called.resolve();
      return late.promise;
    };
    const first = dispatchJob(context, pending(job), read);
    await called.promise;
    context.clock.now += DISPATCH_LEASE_MS;
    const second = await dispatchJob(context, { ...pending(job), status: "dispatching", dispatchNumber: 1 }, read);
    late.resolve({ status: "queued", request_id: "late" });
    expect([await first, second]).toEqual(["superseded", "dispatched"]);
    expect(await onlyJob(env.DB)).toMatchObject({
      status: "dispatched",
      dispatchNumber: 2,
      requestId: "batch-1",
      unconfirmed: 1,
    });
  });

  it("ignores a refusal of a replaced dispatch", async () => {
    const { job } = await record(documents("d", 2));
    const read = await content(job);
    const late = Promise.withResolvers<unknown>();
    const called = Promise.withResolvers<void>();
    service.onSubmit = () => {
      service.onSubmit = null;
      called.resolve();
      return late.promise;
    };
    const first = dispatchJob(context, pending(job), read);
    await called.promise;
    context.clock.now += DISPATCH_LEASE_MS;
    await dispatchJob(context, { ...pending(job), status: "dispatching", dispatchNumber: 1 }, read);
    const before = await jobs(env.DB);
    late.resolve({ success: false, errors: [{ code: 5006, message: "invalid" }] });
    await first;
    expect(await jobs(env.DB)).toEqual(before);
  });

  it("sends nothing if it lacks texts of its list", async () => {
    const { job } = await record(documents("d", 2));
    await expect(dispatchJob(context, pending(job), (await content(job)).slice(1))).rejects.toThrow(job);
    expect(service.calls).toEqual([]);
  });

  it("logs ids and counts, and no text of a document", async () => {
    const { job } = await record([{ id: "d0", query: "SECRET query", contexts: ["SECRET context"] }]);
    service.onSubmit = () => ({ success: false, errors: [{ code: 3040, message: "busy with SECRET query" }] });
    await dispatchJob(context, pending(job), await content(job));
    expect(context.events).toEqual([
      { event: "job_refused", job, dispatch: 1, reason: "retry", code: 3040, then: "again" },
    ]);
  });
});
