import { expect, it } from "vitest";
import { dispatch, jobId, open, part, record } from "@sluice/pipeline/test-support/fixtures.ts";
import type { JobShape } from "../src/shapes/job.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { ask, db, endJob, type Page, scoresOf } from "./stored.ts";

it("a document, its submission and its job show the same waiting, from the Queue to the end", async () => {
  const submission = await open(db(), { total: 1 });
  const waiting = async () => [
    (await ask<SubmissionShape>(`/v1/submissions/${submission}`)).waiting?.reason ?? null,
    ...(await ask<Page<JobShape>>("/v1/jobs")).data.map((one) => one.waiting?.reason ?? null),
    ...(await ask<Page<JobShape>>(`/v1/submissions/${submission}/results`)).data.map(
      (one) => one.waiting?.reason ?? null,
    ),
  ];
  expect(await waiting()).toEqual(["queue"]);
  const job = jobId();
  await record(db(), job, [[part(submission, 0, [{ id: "a" }])]]);
  expect(await waiting()).toEqual(["dispatch", "dispatch", "dispatch"]);
  await dispatch(db(), job);
  expect(await waiting()).toEqual(["answer", "answer", "answer"]);
  await endJob(job, {
    status: "succeeded",
    outcomes: [scoresOf(submission, "a")],
    children: [],
    tokens: 1,
    error: null,
  });
  expect(await waiting()).toEqual([null, null, null]);
});
