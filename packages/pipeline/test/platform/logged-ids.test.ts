import { env } from "cloudflare:test";
import { expect } from "vitest";
import { deliver, messageOf } from "../../test-support/deliver.ts";
import { jobs } from "../../test-support/index.ts";
import { document } from "../../test-support/documents.ts";
import { nextRun, runUntilDone } from "../../test-support/drive.ts";
import { open, part } from "../../test-support/fixtures.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

it("lines about a job name it, its dispatch, and the submissions that it was sent with", async () => {
  const submission = await open(context.db, { total: 1 });
  const error = new Error("3040: Capacity temporarily exceeded");
  service.onSubmit = () => Promise.reject(error);
  await deliver(context, [messageOf(part(submission, 0, [document("d")]))]);
  service.onSubmit = null;
  await nextRun(context);
  await runUntilDone(context);
  const [job] = await jobs(env.DB);
  const lines = context.events.filter(({ event }) => event.startsWith("job_"));
  expect(lines).toMatchObject([
    { event: "job_refused", job: job?.id, dispatch: 1 },
    { event: "job_dispatched", job: job?.id, dispatch: 2, submissions: [submission], request_id: "batch-1" },
    { event: "job_finalized", job: job?.id, dispatch: 2, outcomes: 1 },
  ]);
});
