import { SUBMIT_BURST_MS, SUBMIT_SPACING_MS } from "../../src/job/schedule.ts";
import { env } from "cloudflare:test";
import { beforeEach, expect } from "vitest";
import { DEFAULT_MODEL } from "@sluice/core";
import { documents, jobs, NOW, recordJob, RUN } from "../../test-support/index.ts";
import { runPoller } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

beforeEach(async () => {
  await env.DB.exec("DELETE FROM jobs");
  await env.DB.exec("DELETE FROM submit_rates");
});

const record = (name: string) => recordJob(context.db, documents(name, 1), { now: NOW, dueAt: NOW });
/** Sets the submit rate as after so many submits that the next one is allowed at this time. */
const noSubmitBefore = (time: number) =>
  env.DB.exec(
    `INSERT INTO submit_rates VALUES ('${DEFAULT_MODEL}', ${time}) ON CONFLICT DO UPDATE SET next_at = ${time}`,
  );
const sizes = () => service.submits.map(({ requests }) => requests.length);

it("a run over the submit rate waits and dispatches all of its jobs", async () => {
  for (let job = 0; job < 5; job += 1) await record(`d${job}-`);
  // Dispatched before, so not merged.
  await env.DB.exec(`UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]'`);
  // Two submits fit.
  await noSubmitBefore(NOW - SUBMIT_SPACING_MS);
  const times: number[] = [];
  service.onSubmit = () => {
    times.push(context.clock.now - NOW);
    return undefined;
  };
  await runPoller(context);
  expect(times).toEqual([0, 0, 5_000, 5_000, 5_000]);
});

it("jobs that wait for the submit rate merge with jobs that arrive later", async () => {
  await record("a");
  await noSubmitBefore(NOW + SUBMIT_BURST_MS);
  let sleeps = 0;
  const { sleep } = context;
  await runPoller({
    ...context,
    sleep: async (milliseconds) => {
      await sleep(milliseconds);
      sleeps += 1;
      if (sleeps === 1) await record("b");
    },
  });
  expect(sizes()).toEqual([2]);
});

it("a run that was over the submit rate continues and polls its batches", async () => {
  await record("a");
  await noSubmitBefore(NOW + SUBMIT_BURST_MS);
  await runPoller(context);
  expect(await jobs(env.DB)).toMatchObject([{ status: "succeeded" }]);
  expect(context.clock.now - NOW).toBeLessThan(RUN);
});

it("a run within the submit rate ends when nothing is due", async () => {
  await record("a");
  await runPoller(context);
  expect(await jobs(env.DB)).toMatchObject([{ status: "dispatched" }]);
  expect(context.clock.now).toBe(NOW);
});
