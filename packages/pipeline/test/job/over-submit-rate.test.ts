import { SUBMIT_BURST_MS, SUBMIT_SPACING_MS } from "../../src/job/schedule.ts";
import { env } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { DEFAULT_MODEL } from "@sluice/core";
import { BatchService, documents, jobs, NOW, recordJob, RUN, testIo, type TestIo } from "../../test-support/index.ts";
import { runPoller } from "../../test-support/drive.ts";

let service: BatchService;
let io: TestIo;
beforeEach(async () => {
  await env.DB.exec("DELETE FROM jobs");
  await env.DB.exec("DELETE FROM submit_rates");
  service = new BatchService();
  io = testIo(env.DB, service);
});

const record = (name: string) => recordJob(io.db, documents(name, 1), { now: NOW, dueAt: NOW });
/** As after so many submits that the model takes the next one at this time. */
const noSubmitBefore = (time: number) =>
  env.DB.exec(
    `INSERT INTO submit_rates VALUES ('${DEFAULT_MODEL}', ${time}) ON CONFLICT DO UPDATE SET next_at = ${time}`,
  );
const sizes = () => service.submits.map(({ requests }) => requests.length);

it("a run over the rate of submits waits for its turn, and dispatches all of its jobs", async () => {
  for (let job = 0; job < 5; job += 1) await record(`d${job}-`);
  // Dispatched before, so that they are not merged.
  await env.DB.exec(`UPDATE jobs SET dispatch_number = 1, dispatches = '[{"number":1}]'`);
  // Two fit.
  await noSubmitBefore(NOW - SUBMIT_SPACING_MS);
  const times: number[] = [];
  service.onSubmit = () => {
    times.push(io.clock.now - NOW);
    return undefined;
  };
  await runPoller(io);
  expect(times).toEqual([0, 0, 5_000, 5_000, 5_000]);
});

it("jobs that wait for the rate of submits merge with those that come meanwhile", async () => {
  await record("a");
  await noSubmitBefore(NOW + SUBMIT_BURST_MS);
  let sleeps = 0;
  const { sleep } = io;
  await runPoller({
    ...io,
    sleep: async (milliseconds) => {
      await sleep(milliseconds);
      sleeps += 1;
      if (sleeps === 1) await record("b");
    },
  });
  expect(sizes()).toEqual([2]);
});

it("a run that was over the rate looks on, and polls what it dispatched", async () => {
  await record("a");
  await noSubmitBefore(NOW + SUBMIT_BURST_MS);
  await runPoller(io);
  expect(await jobs(env.DB)).toMatchObject([{ status: "succeeded" }]);
  expect(io.clock.now - NOW).toBeLessThan(RUN);
});

it("a run that is not over the rate ends when nothing is due", async () => {
  await record("a");
  await runPoller(io);
  expect(await jobs(env.DB)).toMatchObject([{ status: "dispatched" }]);
  expect(io.clock.now).toBe(NOW);
});
