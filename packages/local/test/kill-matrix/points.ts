import type { KillAt } from "./director.ts";
import * as scenes from "./scenes.ts";
import type { Scene } from "./scene.ts";
import { after, before, steps, unanswered, untaken } from "./steps.ts";

/** A row of the matrix: what is going on, where the runtime is killed, in which scene, and what that costs. */
export type KillPoint = readonly [name: string, at: KillAt, scene: Scene, cost?: Cost];

export interface Cost {
  /** Dispatches of which nobody can know whether they were run: what must be counted, no more and no less. */
  readonly unconfirmed?: number;
  /** Batches that Workers AI did take in, and nobody wrote down: paid twice. */
  readonly unrecorded?: number;
}

const { pushing } = scenes;
const maybeRun = { unconfirmed: 1 };
const paidTwice = { unconfirmed: 1, unrecorded: 1 };

const takenUnseen: KillPoint = [
  "Workers AI took a batch in, and its answer is not seen",
  after(steps.submit),
  pushing("one part"),
  paidTwice,
];
const recordedInPart: KillPoint = [
  "the first of several deliveries is recorded, and the push still open",
  after(steps.record, { holds: [steps.close] }),
  scenes.resuming,
];
const halfAnswered: KillPoint = [
  "half an answer is written, and a follow-up job with it",
  after(steps.goOnWithSome),
  scenes.followingUp,
];
const lostByQueue: KillPoint = [
  "a push is answered, and the Queue loses it",
  after(steps.keepAnswer, untaken),
  scenes.losingMessages,
];
const reportedUnpolled: KillPoint = [
  "an event's job is claimed, and not polled",
  after(steps.claimReported),
  scenes.reporting,
];

/**
 * The points that every run of the tests plays, one for each way to lose something: what the Queue had, part of a push,
 * a batch that is paid and not known, half of an answer, and an event.
 */
export const telling: readonly KillPoint[] = [lostByQueue, recordedInPart, takenUnseen, halfAnswered, reportedUnpolled];

/** From a push to its `request_id`. */
export const pushed: readonly KillPoint[] = [
  ["a push of one part is written, and not sent", before(steps.send), pushing("one part")],
  ["a push is written, and nothing of it is sent", after(steps.open), pushing("five parts")],
  ["the Queue took the first call of a push, and lost it", after(steps.send, untaken), pushing("five parts")],
  ["a stream is sent, and not closed", before(steps.close, untaken), pushing("a stream of five parts")],
  ["a stream is closed, and not answered", after(steps.close, untaken), pushing("a stream of five parts")],
  ["a push that broke off is taken over, and that breaks off too", after(steps.takeOver), scenes.takingOver],
  ["a part is about to be staged", before(steps.stage), pushing("a part too big for a message")],
  ["a part is staged, and its message is not sent", before(steps.send), scenes.stagedAndLeftAlone],
  ["a delivery is there, and nothing of it is recorded", before(steps.record, unanswered), pushing("one part")],
  recordedInPart,
  ["a part is recorded, and its job has no dispatch", after(steps.record), pushing("one part")],
  ["a dispatch is about to be started", before(steps.startDispatch), pushing("one part")],
  ["a dispatch is started, and Workers AI not called", before(steps.submit), pushing("one part"), maybeRun],
  takenUnseen,
  ["a request_id is there, and not recorded", before(steps.confirm), pushing("one part"), paidTwice],
  ["a request_id is recorded, and its message not acknowledged", after(steps.confirm, unanswered), pushing("one part")],
  ["Workers AI refused a batch, and nobody wrote it down", before(steps.split), scenes.bisecting, maybeRun],
  ["a refused batch is halved, and nobody has the halves", after(steps.split), scenes.bisecting],
];

/** From there to scores; what people ask for in between, and what time brings. */
export const polled: readonly KillPoint[] = [
  ["a job is claimed, and not polled", after(steps.claim), scenes.polling(1)],
  ["an answer is there, and nothing of it is written", after(steps.poll), scenes.polling(1)],
  ["four answers are about to be finalized together", before(steps.finalize), scenes.polling(4)],
  ["a job is finalized, and the run has not ended", after(steps.finalize), scenes.polling(1)],
  halfAnswered,
  reportedUnpolled,
  ["Workers AI took in what a dead consumer left", after(steps.submitAgain), scenes.dispatchingLate, paidTwice],
  [
    "a staged part is recorded from D1, and not dispatched",
    after(steps.recordStaged, untaken),
    scenes.stagedWithoutMessage,
  ],
  ["a cancelation is about to be written", before(steps.cancel), scenes.canceling],
  ["a cancelation is written, and not answered", after(steps.cancel), scenes.canceling],
  ["a cancelation is carried out, and the run has not ended", after(steps.endCanceled), scenes.carryingOutCancel],
  ["Workers AI took a batch in that is then canceled", after(steps.submit), scenes.cancelingBrokenDispatch, paidTwice],
  ["a document is deleted while its batch runs", after(steps.delete), scenes.deleting],
  ["failed documents are about to be queued again", before(steps.retry), scenes.retrying],
  ["failed documents are queued again, and that is not answered", after(steps.retry), scenes.retrying],
  [
    "a push breaks off that nobody repeats for an hour",
    before(steps.sendBulk, { nth: 2, ...untaken }),
    scenes.abandoning,
  ],
  lostByQueue,
  ["a sweep after documents were lost is done, and the run has not ended", after(steps.sweep), scenes.countingLost],
];
