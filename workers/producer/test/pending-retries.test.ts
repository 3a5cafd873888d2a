import { env } from "cloudflare:test";
import { continueRetries } from "@sluice/pipeline/submission/continue-retries.ts";
import { manyFailed } from "@sluice/pipeline/test-support/failed-documents.ts";
import { BatchService, testContext } from "@sluice/pipeline/test-support";
import { describe, expect, it } from "vitest";
import type { DocumentShape } from "../src/shapes/document.ts";
import type { JobShape } from "../src/shapes/job.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { NOW } from "./api.ts";
import { ask, at, db, ids, type Page, post, recorded, rows } from "./stored.ts";

const listed = async (status: string) =>
  (await ask<Page<SubmissionShape>>(`/v1/submissions?status=${status}`)).data.map(({ id }) => id);

/** A retried submission of 20,000 failed documents: the request has only listed their parts. */
async function retried() {
  const submission = await manyFailed(db(), 20, 1_000);
  const path = `/v1/submissions/${submission}`;
  const answer = await ask<{ submission: SubmissionShape; queued: number }>(`${path}/retry`, post());
  return { submission, path, answer };
}

describe("a submission whose retry has queued nothing yet", () => {
  it("is processing, and shows the progress of the retry", async () => {
    const { submission, path, answer } = await retried();
    expect(answer).toMatchObject({
      queued: 0,
      submission: {
        status: "processing",
        counts: { total: 20_000, failed: 20_000, processing: 0 },
        retry: { documents: 20_000, queued: 0, since: at(NOW) },
        waiting: { reason: "dispatch", until: null },
        completed_at: null,
      },
    });
    expect(await ask(path)).toEqual(answer.submission);
    expect([await listed("processing"), await listed("completed")]).toEqual([[submission], []]);
  });

  it("counts each document once, whatever else is requested meanwhile", async () => {
    const { path } = await retried();
    const again = await ask<{ submission: SubmissionShape }>(`${path}/retry?code=model_error`, post());
    expect(again.submission).toMatchObject({ counts: { total: 20_000 }, retry: { documents: 20_000 } });
  });

  it("is canceled with its retry, which then queues nothing", async () => {
    const { submission, path } = await retried();
    const canceled = await ask<SubmissionShape>(`${path}/cancel`, post());
    expect(canceled).toMatchObject({
      status: "canceled",
      counts: { total: 20_000, failed: 20_000, canceled: 0 },
      retry: null,
      waiting: null,
    });
    expect(canceled.completed_at).not.toBeNull();
    await continueRetries(testContext(env.DB, new BatchService()));
    expect(await rows("SELECT count(*) AS n FROM jobs WHERE due_at IS NOT NULL")).toEqual([{ n: 0 }]);
    expect([await listed("canceled"), await listed("processing")]).toEqual([[submission], []]);
  });
});

it("a submission canceled during a pause does not wait for it, nor do its documents and jobs", async () => {
  const { submission, job } = await recorded(ids(0, 2));
  await ask("/v1/pause", post({ model: "@cf/baai/bge-m3" }));
  const waiting = async () => [
    (await ask<SubmissionShape>(`/v1/submissions/${submission}`)).waiting?.reason,
    (await ask<DocumentShape>("/v1/collections/default/documents/d0")).waiting?.reason,
    (await ask<JobShape>(`/v1/jobs/${job}`)).waiting?.reason,
  ];
  expect(await waiting()).toEqual(["paused_model", "paused_model", "paused_model"]);
  expect(await ask(`/v1/submissions/${submission}/cancel`, post())).toMatchObject({ status: "canceling" });
  expect(await waiting()).toEqual(["dispatch", "dispatch", "dispatch"]);
});
