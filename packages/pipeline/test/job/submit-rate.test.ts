import { env } from "cloudflare:test";
import { expect } from "vitest";
import { SUBMIT_BURST_MS, SUBMIT_SPACING_MS } from "../../src/job/schedule.ts";
import type { JobId } from "@sluice/core";
import { readJobContent } from "../../src/job/sql/read-job-documents.ts";
import { documents, jobs, NOW, recordJob } from "../../test-support/index.ts";
import { dispatchJob } from "../../src/job/dispatch-job.ts";
import { dispatchRecorded } from "../../src/message/dispatch-recorded.ts";
import type { RecordedJob } from "../../src/message/record-job.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

const MODEL = "@cf/baai/bge-m3";
/** Submits that are allowed at the same time. */
const BURST = Math.floor(SUBMIT_BURST_MS / SUBMIT_SPACING_MS) + 1;

async function record(count: number): Promise<RecordedJob[]> {
  const made: RecordedJob[] = [];
  for (let index = 0; index < count; index += 1) {
    const { job: id } = await recordJob(context.db, documents(`d${index}-`, 1), { now: NOW, dueAt: NOW + 120_000 });
    made.push({
      id,
      model: MODEL,
      payloadBytes: 100,
      readContent: () => readJobContent(context.db, { id, dispatchNumber: 0 }),
    });
  }
  return made;
}
/** Sets the submit rate as after this many submits at this time. */
const submitted = (count: number) =>
  env.DB.exec(`INSERT INTO submit_rates VALUES ('${MODEL}', ${NOW - SUBMIT_BURST_MS + count * SUBMIT_SPACING_MS})`);
const due = async (id: JobId) => (await jobs(env.DB)).find((job) => job.id === id);

it("a delivery stops dispatching at the submit rate and leaves other jobs to the poller", async () => {
  const list = await record(5);
  await submitted(BURST - 2);
  await dispatchRecorded(context, list);
  expect(service.submits).toHaveLength(2);
  const [, , over, ...left] = list as [RecordedJob, RecordedJob, RecordedJob, ...RecordedJob[]];
  expect(await due(over.id)).toMatchObject({ status: "pending", dispatchNumber: 0, refusals: 0 });
  expect((await due(over.id))?.dueAt).toBeGreaterThan(NOW);
  for (const { id } of left) expect(await due(id)).toMatchObject({ status: "pending", dispatchNumber: 0, dueAt: NOW });
});

it("a job over the submit rate is dispatched when the rate allows it", async () => {
  const [one] = (await record(1)) as [RecordedJob];
  await submitted(BURST + 10);
  const job = {
    id: one.id,
    model: one.model,
    status: "pending",
    dispatchNumber: 0,
    round: 1,
    refusals: 0,
    batches: 0,
    halvings: 0,
  } as const;
  expect(await dispatchJob(context, job, await one.readContent())).toBe("over_rate");
  expect(service.calls).toEqual([]);
  context.clock.now = (await due(one.id))?.dueAt ?? 0;
  expect(context.clock.now - NOW).toBeLessThanOrEqual(11 * SUBMIT_SPACING_MS);
  expect(await dispatchJob(context, job, await one.readContent())).toBe("dispatched");
});
