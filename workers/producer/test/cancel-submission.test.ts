import { MESSAGE_LIFE_MS } from "@sluice/pipeline/submission/lifetimes.ts";
import { startDispatch } from "@sluice/pipeline/job/sql/start-dispatch.ts";
import { sweepSubmissions } from "@sluice/pipeline/submission/sql/sweep-submissions.ts";
import { describe, expect, it } from "vitest";
import { dispatch, jobId, open, part, record, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { NOW } from "./api.ts";
import { ask, db, ids, limited, post, recorded, refused, rows, scored } from "./stored.ts";

describe("canceling a submission", () => {
  it("is shown, and ends undispatched documents when their turn comes", async () => {
    const { submission, job } = await recorded(ids(0, 3));
    const path = `/v1/submissions/${submission}`;
    expect(await ask<SubmissionShape>(`${path}/cancel`, post())).toMatchObject({ id: submission, status: "canceling" });
    await startDispatch(db(), { id: job, dispatchNumber: 0, status: "pending" }, { until: NOW + 1, token: "t" }, NOW);
    expect(await ask<SubmissionShape>(path)).toMatchObject({
      status: "canceled",
      counts: { total: 3, canceled: 3, processing: 0 },
      waiting: null,
    });
  });

  it("lets dispatched documents finish", async () => {
    const { submission, job } = await recorded(ids(0, 1));
    const members = await dispatch(db(), job);
    await ask(`/v1/submissions/${submission}/cancel`, post());
    await succeed(db(), job, members);
    expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({ status: "canceled", counts: { succeeded: 1 } });
  });

  it("ends documents in the Queue as canceled on arrival, or as lost if they never arrive", async () => {
    const submission = await open(db(), { total: 3 });
    const path = `/v1/submissions/${submission}`;
    expect(await ask<SubmissionShape>(`${path}/cancel`, post())).toMatchObject({
      status: "canceling",
      counts: { queued: 3, canceled: 0 },
    });
    await record(db(), jobId(), [[part(submission, 0, ids(0, 1))]]);
    expect(await ask<SubmissionShape>(path)).toMatchObject({ status: "canceling", counts: { queued: 2, canceled: 1 } });
    const later = NOW + MESSAGE_LIFE_MS + 1;
    await sweepSubmissions(db(), {
      now: later,
      settledBy: later,
      abandonedBefore: NOW,
      lostBefore: later - MESSAGE_LIFE_MS,
    });
    expect(await ask<SubmissionShape>(path)).toMatchObject({
      status: "canceled",
      counts: { total: 3, queued: 0, canceled: 1, failed: 2 },
      failures: { message_lost: 2 },
      stalled: null,
      waiting: null,
    });
  });

  it("changes nothing a second time, or after the end", async () => {
    const { submission } = await scored(ids(0, 1));
    const path = `/v1/submissions/${submission}/cancel`;
    expect(await ask(path, post())).toMatchObject({ status: "completed", counts: { succeeded: 1 } });
    expect(await ask(path, post())).toMatchObject({ status: "completed" });
  });

  it.each(["sub_01999999-0000-7000-8000-000000000000", "nothing"])("is 404 for an unknown id: %s", async (id) => {
    for (const verb of ["cancel", "retry"]) {
      const { response } = await refused(`/v1/submissions/${id}/${verb}`, post());
      expect(response.status).toBe(404);
    }
  });

  it("is 404 in another collection", async () => {
    const { submission } = await recorded(ids(0, 1), { collection: "other" });
    for (const verb of ["cancel", "retry"]) {
      const { response } = await refused(`/v1/submissions/${submission}/${verb}`, post(), await limited());
      expect(response.status).toBe(404);
    }
    expect(await rows("SELECT cancel_requested_at FROM submissions")).toEqual([{ cancel_requested_at: null }]);
  });
});
