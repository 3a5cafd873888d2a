import type { KillAt } from "./director.ts";
import type { Scene } from "./scene.ts";
import * as scenes from "./scenes.ts";
import { after, before, steps, unanswered, untaken } from "./steps.ts";

/** A row of the matrix: the work in progress, where the runtime is killed, in which scene, and the cost. */
export type KillPoint = readonly [name: string, at: KillAt, scene: Scene, cost?: Cost];

export interface Cost {
  /** Dispatches whose result nobody can know: exactly these must be counted. */
  readonly unconfirmed?: number;
  /** Batches that Workers AI accepted without a record: paid for twice. */
  readonly unrecorded?: number;
}

const { pushing } = scenes;
const maybeRun = { unconfirmed: 1 };
const paidTwice = { unconfirmed: 1, unrecorded: 1 };

const takenUnseen: KillPoint = [
  "Workers AI has accepted a batch, and its answer is not seen",
  after(steps.submit),
  pushing("one part"),
  paidTwice,
];
const recordedInPart: KillPoint = [
  "the first of several deliveries is recorded, and the push is still open",
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
 * The points that every test run plays, one for each kind of loss: messages in the Queue, part of a push, a batch that
 * is paid for but unknown, half of an answer, and an event.
 */
export const telling: readonly KillPoint[] = [lostByQueue, recordedInPart, takenUnseen, halfAnswered, reportedUnpolled];

/** From a push to its `request_id`. */
export const pushed: readonly KillPoint[] = [
  ["a push of one part is written, and not sent", before(steps.send), pushing("one part")],
  ["a push is written, and nothing of it is sent", after(steps.open), pushing("five parts")],
  ["the Queue has accepted the first call of a push and loses it", after(steps.send, untaken), pushing("five parts")],
  ["a stream is sent, and not closed", before(steps.close, untaken), pushing("a stream of five parts")],
  ["a stream is closed, and not answered", after(steps.close, untaken), pushing("a stream of five parts")],
  ["an interrupted push is resumed and interrupted again", after(steps.takeOver), scenes.takingOver],
  ["a part is about to be staged", before(steps.stage), pushing("a part too big for a message")],
  ["a part is staged, and its message is not sent", before(steps.send), scenes.stagedAndLeftAlone],
  ["a delivery arrives, and none of it is recorded", before(steps.record, unanswered), pushing("one part")],
  recordedInPart,
  ["a part is recorded, and its job has no dispatch", after(steps.record), pushing("one part")],
  ["a dispatch is about to start", before(steps.startDispatch), pushing("one part")],
  ["a dispatch is started, and Workers AI not called", before(steps.submit), pushing("one part"), maybeRun],
  takenUnseen,
  ["a request_id is received and not recorded", before(steps.confirm), pushing("one part"), paidTwice],
  ["a request_id is recorded, and its message not acknowledged", after(steps.confirm, unanswered), pushing("one part")],
  ["Workers AI has refused a batch, and this is not recorded", before(steps.split), scenes.bisecting, maybeRun],
  ["a refused batch is split, and the halves are not recorded", after(steps.split), scenes.bisecting],
];

/** The points from `request_id` to scores, including user actions and timeouts. */
export const polled: readonly KillPoint[] = [
  ["a job is claimed, and not polled", after(steps.claim), scenes.polling(1)],
  ["an answer is received, and none of it is written", after(steps.poll), scenes.polling(1)],
  ["four answers are about to be finalized together", before(steps.finalize), scenes.polling(4)],
  ["a job is finalized, and the run has not ended", after(steps.finalize), scenes.polling(1)],
  halfAnswered,
  reportedUnpolled,
  ["Workers AI has accepted the job of a dead consumer", after(steps.submitAgain), scenes.dispatchingLate, paidTwice],
  [
    "a staged part is recorded from D1, and not dispatched",
    after(steps.recordStaged, untaken),
    scenes.stagedWithoutMessage,
  ],
  ["a cancelation is about to be written", before(steps.cancel), scenes.canceling],
  ["a cancelation is written, and not answered", after(steps.cancel), scenes.canceling],
  ["a cancelation is executed, and the run has not ended", after(steps.endCanceled), scenes.carryingOutCancel],
  [
    "Workers AI has accepted a batch that is then canceled",
    after(steps.submit),
    scenes.cancelingBrokenDispatch,
    paidTwice,
  ],
  ["a document is deleted while its batch runs", after(steps.delete), scenes.deleting],
  ["failed documents are about to be queued again", before(steps.retry), scenes.retrying],
  ["failed documents are queued again, and the retry is not answered", after(steps.retry), scenes.retrying],
  [
    "a push is interrupted and not repeated for an hour",
    before(steps.sendBulk, { nth: 2, ...untaken }),
    scenes.abandoning,
  ],
  lostByQueue,
  ["a sweep after lost documents is done, and the run has not ended", after(steps.sweep), scenes.countingLost],
];
