import { env } from "cloudflare:test";
import { NEVER_DUE } from "../../src/job/schedule.ts";
import { submissionScope } from "../../src/job/pause-scopes.ts";
import { weighPart } from "../../src/job/job.ts";
import type { PartMessage } from "../../src/message/message.ts";
import { pauseDispatching, type Pause } from "../../src/job/sql/pause-dispatching.ts";
import { expect, it } from "vitest";
import { dispatchRecorded, recordJob } from "../../src/message/record-job.ts";
import { BatchService, documents, jobs, NOW, open, part, testIo, type TestIo } from "../../test-support/index.ts";

function planned({ body }: { readonly body: string }) {
  const message = JSON.parse(body) as PartMessage;
  return { part: message, weight: weighPart(message) };
}

/** Records a job, then dispatches it as the pause allows. */
async function recordAndDispatch(io: TestIo, parts: Parameters<typeof recordJob>[1], pause: Pause) {
  const { parts: recorded, job } = await recordJob(io, parts, true);
  await pauseDispatching(io.db, pause);
  await dispatchRecorded(io, [job]);
  return recorded;
}

it("parts of a paused submission are recorded, and kept apart from those that are dispatched with them", async () => {
  const service = new BatchService();
  const io = testIo(env.DB, service);
  const [a, b] = [await open(io.db, { total: 2 }), await open(io.db, { total: 3 })];
  const parts = [planned(part(a, 0, documents("a", 2))), planned(part(b, 0, documents("b", 3)))] as const;
  const pause: Pause = { scope: submissionScope(a), reason: "requested", message: null, since: NOW, until: null };
  expect(await recordAndDispatch(io, parts, pause)).toEqual([true, true]);
  expect(await jobs(env.DB)).toMatchObject([
    { status: "dispatched", documents: ["b0", "b1", "b2"] },
    { status: "pending", dispatchNumber: 0, documents: ["a0", "a1"] },
  ]);
  expect(service.submits.map((call) => call.requests.length)).toEqual([3]);
});

it("a job of a paused submission alone is recorded, and not dispatched", async () => {
  const service = new BatchService();
  const io = testIo(env.DB, service);
  const a = await open(io.db, { total: 2 });
  const pause: Pause = {
    scope: submissionScope(a),
    reason: "requested",
    message: null,
    since: NOW,
    until: null,
  };
  await recordAndDispatch(io, [planned(part(a, 0, documents("a", 2)))], pause);
  expect(await jobs(env.DB)).toMatchObject([{ status: "pending", documents: ["a0", "a1"], dueAt: NEVER_DUE }]);
  expect(service.submits).toEqual([]);
});
