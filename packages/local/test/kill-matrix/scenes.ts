import type { Submission } from "@sluice/client/types";
import { MESSAGE_LIFE_MS, ABANDONED_AFTER_MS } from "@sluice/pipeline/submission/lifetimes.ts";
import { expect } from "vitest";
import { makeDocuments, withWord } from "./documents.ts";
import { WORDS } from "./machine.ts";
import { Push } from "./push.ts";
import { allEnd, type Scene, type Stage } from "./scene.ts";
import { after, steps, untaken } from "./steps.ts";

/**
 * The contents of the pushes. A message holds 128 KB and a call two messages, so documents of 30 KB make five parts and
 * three calls.
 */
const sizes = {
  "one part": { count: 6, words: 6, format: "json" },
  "five parts": { count: 20, words: 1_700, format: "json" },
  "a stream of five parts": { count: 20, words: 1_700, format: "ndjson" },
  // More than the five calls that one crash may interrupt: the first, and the next four in parallel.
  "a stream of twelve parts": { count: 48, words: 1_700, format: "ndjson" },
  "a part too big for a message": { count: 1, words: 9_000, format: "json" },
} as const;
type Size = keyof typeof sizes;

function newPush({ machine, collection }: Stage, size: Size, name = collection): Push {
  const { count, words, format } = sizes[size];
  return new Push(machine, collection, makeDocuments(name, count, words), format);
}

/**
 * Killed between the push and its batches. The client, which may have no answer, repeats the push with the same key.
 */
export function pushing(size: Size): Scene {
  return async (stage) => {
    const push = newPush(stage, size);
    await stage.kill(() => push.send());
    const { submission } = await push.untilAccepted();
    return [allEnd(push, submission)];
  };
}

/** The same. Documents recorded before the kill are not sent again. */
export const resuming: Scene = async (stage) => {
  const push = newPush(stage, "five parts");
  await stage.kill(() => push.send());
  const { submission, headers } = await push.untilAccepted();
  expect(Number(headers.get("idempotency-resumed")), "documents recorded before").toBeGreaterThan(0);
  return [allEnd(push, submission)];
};

/** Nobody repeats the push: the staged part is recorded from D1. A late repeat finds it done. */
export const stagedAndLeftAlone: Scene = async (stage) => {
  const push = newPush(stage, "a part too big for a message");
  await stage.kill(() => push.send());
  await stage.machine.tickUntil("the staged document is scored", async () => {
    const { status, body } = await stage.machine.call(
      `/v1/collections/${stage.collection}/documents/${push.documents[0]?.id}`,
    );
    return status === 200 && (body as { status: string }).status === "succeeded";
  });
  const { submission } = await push.untilAccepted();
  return [allEnd(push, submission)];
};

/** The message is lost, so the poller records the part and is killed while doing so. */
export const stagedWithoutMessage: Scene = async (stage) => {
  const push = newPush(stage, "a part too big for a message");
  let submission = "";
  await stage.kill(async (isOver) => {
    ({ submission } = await push.untilAccepted());
    while (!isOver()) await stage.machine.tick();
  });
  return [allEnd(push, submission)];
};

/** Killed while the poller works on dispatched jobs. */
export function polling(pushes: number): Scene {
  return async (stage) => {
    const expected = [];
    for (let n = 0; n < pushes; n += 1) {
      const push = newPush(stage, "one part", `${stage.collection}-${n}`);
      const { submission } = await push.untilAccepted();
      // Alone in its job.
      await stage.untilDispatched(submission);
      expected.push(allEnd(push, submission));
    }
    await stage.killInRun();
    return expected;
  };
}

/** Workers AI reports the end of a batch. Killed while the poller handles that message; the Queue loses it. */
export const reporting: Scene = async (stage) => {
  const push = newPush(stage, "one part");
  const { submission } = await push.untilAccepted();
  const requestId = await stage.untilDispatched(submission);
  await stage.kill(() => stage.machine.reportEnd(requestId));
  return [allEnd(push, submission)];
};

/** The poller dispatches the job that a consumer left recorded, and is killed there too. */
export const dispatchingLate: Scene = async (stage) => {
  const push = newPush(stage, "one part");
  await stage.machine.director.killAt(after(steps.record), () => push.send());
  const { submission } = await push.untilAccepted();
  await stage.killInRun();
  return [allEnd(push, submission)];
};

/** An answer omits a document: the other scores are kept, and the missing document is sent again. */
export const followingUp: Scene = async (stage) => {
  const push = new Push(stage.machine, stage.collection, withWord(makeDocuments(stage.collection, 6), 2, WORDS.shy));
  const { submission } = await push.untilAccepted();
  await stage.untilDispatched(submission);
  await stage.killInRun();
  return [allEnd(push, submission)];
};

/** One document has its batches refused: they are split until it is alone. Killed on the way. */
export const bisecting: Scene = async (stage) => {
  const push = new Push(stage.machine, stage.collection, withWord(makeDocuments(stage.collection, 8), 5, WORDS.poison));
  let submission = "";
  await stage.kill(async (isOver) => {
    ({ submission } = await push.untilAccepted());
    while (!isOver()) await stage.machine.tick();
  });
  if (submission === "") ({ submission } = await push.untilAccepted());
  return [allEnd(push, submission, (_, n) => (n === 5 ? "invalid_input" : "succeeded"))];
};

/** Recorded and held by a pause, then canceled. Killed during the cancel request. */
export const canceling: Scene = async (stage) => {
  const { push, submission } = await pushKeptBack(stage);
  const cancel = () => stage.machine.read(`/v1/submissions/${submission}/cancel`, { method: "POST" });
  await stage.kill(cancel);
  await cancel();
  await stage.untilCompleted(submission);
  await stage.machine.read("/v1/resume", { method: "POST" });
  return [allEnd(push, submission, "canceled")];
};

/** The same. Killed while the poller executes the cancelation. */
export const carryingOutCancel: Scene = async (stage) => {
  const { push, submission } = await pushKeptBack(stage);
  await stage.machine.read(`/v1/submissions/${submission}/cancel`, { method: "POST" });
  await stage.killInRun();
  await stage.machine.read("/v1/resume", { method: "POST" });
  return [allEnd(push, submission, "canceled")];
};

async function pushKeptBack(stage: Stage): Promise<{ push: Push; submission: string }> {
  const { machine, collection } = stage;
  await machine.read("/v1/pause", { method: "POST" });
  const push = newPush(stage, "one part");
  const { submission } = await push.untilAccepted();
  await machine.waitUntil("it is recorded and held", async () => {
    const { status, body } = await machine.call(`/v1/collections/${collection}/documents/${push.documents[0]?.id}`);
    return status === 200 && (body as Submission).waiting?.reason === "paused";
  });
  await machine.director.untilIdle();
  return { push, submission };
}

/** A dispatch is interrupted. Then the submission is canceled, and nothing is dispatched again. */
export const cancelingBrokenDispatch: Scene = async (stage) => {
  const push = newPush(stage, "one part");
  await stage.kill(() => push.send());
  const { submission } = await push.untilAccepted();
  await stage.machine.read(`/v1/submissions/${submission}/cancel`, { method: "POST" });
  return [allEnd(push, submission, "canceled")];
};

/** A document is deleted while its batch runs: its answer is dropped. */
export const deleting: Scene = async (stage) => {
  const push = newPush(stage, "one part");
  const { submission } = await push.untilAccepted();
  await stage.untilDispatched(submission);
  const remove = () =>
    stage.machine.call(`/v1/collections/${stage.collection}/documents/${push.documents[1]?.id}`, { method: "DELETE" });
  await stage.kill(remove);
  expect([200, 404]).toContain((await remove()).status);
  return [allEnd(push, submission, (_, n) => (n === 1 ? "deleted" : "succeeded"))];
};

/** A failed document is retried until it succeeds. Killed during the first retry request. */
export const retrying: Scene = async (stage) => {
  const push = new Push(stage.machine, stage.collection, withWord(makeDocuments(stage.collection, 4), 1, WORDS.weak));
  const { submission } = await push.untilAccepted();
  await stage.untilCompleted(submission);
  const retry = () => stage.machine.read(`/v1/submissions/${submission}/retry`, { method: "POST" });
  const failed = async () => (await stage.machine.read<Submission>(`/v1/submissions/${submission}`)).counts.failed;
  expect(await failed()).toBe(1);
  await stage.kill(retry);
  await retry();
  await stage.untilCompleted(submission);
  // The restarted stand-in fails it three more times.
  expect(await failed()).toBe(1);
  await retry();
  return [allEnd(push, submission)];
};

/** The repeat of an interrupted push is killed too. */
export const takingOver: Scene = async (stage) => {
  const push = newPush(stage, "five parts");
  await stage.machine.director.killAt(after(steps.send, untaken), () => push.send());
  await stage.kill(() => push.untilAccepted());
  const { submission } = await push.untilAccepted();
  return [allEnd(push, submission)];
};

/** An interrupted push is not repeated for over an hour, so it is closed as incomplete. Then it is repeated. */
export const abandoning: Scene = async (stage) => {
  const push = newPush(stage, "a stream of twelve parts");
  await stage.kill(() => push.send());
  await stage.machine.director.passTime(ABANDONED_AFTER_MS);
  const { data } = await stage.machine.read<{ data: Submission[] }>(`/v1/submissions?collection=${stage.collection}`);
  const submission = data[0]?.id ?? "";
  const read = () => stage.machine.read<Submission>(`/v1/submissions/${submission}`);
  await stage.machine.tickUntil("the push is closed as incomplete", async () => (await read()).incomplete);
  const { counts } = await read();
  expect(counts.total).toBeGreaterThan(0);
  expect(counts.total).toBeLessThan(push.documents.length);
  expect((await push.untilAccepted()).submission).toBe(submission);
  return [allEnd(push, submission)];
};

/**
 * Answered with 202, but the local Queue lost everything: the start counts the documents as failed, and the same push
 * with its key delivers them.
 */
export const losingMessages: Scene = async (stage) => {
  const push = newPush(stage, "five parts");
  await stage.kill(() => push.send());
  const { data } = await stage.machine.read<{ data: Submission[] }>(`/v1/submissions?collection=${stage.collection}`);
  const lost = push.documents.length;
  expect(data).toMatchObject([{ status: "completed", failures: { message_lost: lost }, stalled: null }]);
  const { submission, headers } = await push.untilAccepted();
  expect(submission).toBe(data[0]?.id);
  expect(headers.get("idempotency-resumed")).toBe("0");
  return [allEnd(push, submission)];
};

/** The Queue lost a push that was answered with 202, and nobody repeats it. Killed in a later sweep. */
export const countingLost: Scene = async (stage) => {
  const push = newPush(stage, "one part");
  stage.machine.director.hold(untaken.holds);
  const { submission } = await push.untilAccepted();
  await stage.machine.director.killNow();
  await stage.machine.director.passTime(MESSAGE_LIFE_MS);
  await stage.killInRun();
  return [allEnd(push, submission, "message_lost")];
};
