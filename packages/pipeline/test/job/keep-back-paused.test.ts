import { env } from "cloudflare:test";
import { NEVER_DUE } from "../../src/job/schedule.ts";
import { submissionScope } from "../../src/job/pause-scopes.ts";
import { weighPart } from "../../src/job/plan-jobs.ts";
import type { PartMessage } from "../../src/message/message.ts";
import { pauseDispatching, type Pause } from "../../src/job/sql/pause-dispatching.ts";
import { expect } from "vitest";
import { dispatchRecorded } from "../../src/message/dispatch-recorded.ts";
import { recordJob } from "../../src/message/record-job.ts";
import { documents, jobs, NOW, open, part } from "../../test-support/index.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

function planned({ body }: { readonly body: string }) {
  const message = JSON.parse(body) as PartMessage;
  return { part: message, weight: weighPart(message) };
}

/** Records a job, then dispatches it if the pause allows. */
async function recordAndDispatch(parts: Parameters<typeof recordJob>[1], pause: Pause) {
  const { parts: recorded, job } = await recordJob(context, parts, true);
  await pauseDispatching(context.db, pause);
  await dispatchRecorded(context, [job]);
  return recorded;
}

it("parts of a paused submission are recorded, and separated from dispatched ones", async () => {
  const [a, b] = [await open(context.db, { total: 2 }), await open(context.db, { total: 3 })];
  const parts = [planned(part(a, 0, documents("a", 2))), planned(part(b, 0, documents("b", 3)))] as const;
  const pause: Pause = { scope: submissionScope(a), reason: "requested", message: null, since: NOW, until: null };
  expect(await recordAndDispatch(parts, pause)).toEqual([true, true]);
  expect(await jobs(env.DB)).toMatchObject([
    { status: "dispatched", documents: ["b0", "b1", "b2"] },
    { status: "pending", dispatchNumber: 0, documents: ["a0", "a1"] },
  ]);
  expect(service.submits.map((call) => call.requests.length)).toEqual([3]);
});

it("a job of only a paused submission is recorded but not dispatched", async () => {
  const a = await open(context.db, { total: 2 });
  const pause: Pause = {
    scope: submissionScope(a),
    reason: "requested",
    message: null,
    since: NOW,
    until: null,
  };
  await recordAndDispatch([planned(part(a, 0, documents("a", 2)))], pause);
  expect(await jobs(env.DB)).toMatchObject([{ status: "pending", documents: ["a0", "a1"], dueAt: NEVER_DUE }]);
  expect(service.submits).toEqual([]);
});
