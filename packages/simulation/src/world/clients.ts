import { DEFAULT_MODEL } from "@sluice/core";
import { writeMalformedId } from "@sluice/producer/src/shapes/malformed.ts";
import { Asking, jsonCall } from "./asking.ts";
import { boundPushToScore } from "./load-bounds.ts";
import { drawLoadTimes, drawSmallPush } from "./load.ts";
import { drawCorrection, drawPush, drawSecondSend, drawTime, drawTimes, type Push } from "./pushes.ts";
import { OtherBodies } from "./other-bodies.ts";
import type { Pushing } from "./pushing.ts";
import { pushingIntoSluice } from "./pushing-into-sluice.ts";
import { scopeOf, targetOf, type PauseTarget } from "./pause-target.ts";
import { callOf } from "./requests.ts";
import type { Stack } from "./stack.ts";
import { MINUTE, type World } from "./world.ts";
import { handlerOf } from "./handlers.ts";

const cancelSubmission = handlerOf("cancelSubmission");
const deleteDocument = handlerOf("deleteDocument");
const deleteCollection = handlerOf("deleteCollection");
const replayMalformed = handlerOf("replayMalformed");
const pause = handlerOf("pause");
const resume = handlerOf("resume");
const retrySubmission = handlerOf("retrySubmission");

/** Maximum number of each action (cancel, delete, retry, pause) per seed. */
const ACTIONS = 4;
/** The share of requested retries that are canceled soon after. */
const CANCELED_RETRIES = 0.1;

/** A valid part of a submission that is not in D1, larger than a message may be. */
const PART_OF_NO_SUBMISSION = JSON.stringify({
  v: 1,
  kind: "part",
  submission: "sub_01a00000-0000-7000-8000-000000000000",
  collection: "default",
  model: DEFAULT_MODEL,
  lane: "bulk",
  truncate_inputs: false,
  part: 0,
  hash: "hash",
  documents: [{ place: 0, id: "strange", bytes: 2_000, query: "query", contexts: ["text ".repeat(400)] }],
});

/** Clients that push, push again, cancel, delete, retry and pause at times that the seed determines. */
export class Clients {
  readonly #world: World;
  readonly #stack: Stack;
  readonly #pushing: Pushing;
  readonly #asking: Asking;
  readonly #otherBodies: OtherBodies;

  constructor(world: World, stack: Stack) {
    this.#world = world;
    this.#stack = stack;
    this.#pushing = pushingIntoSluice(world, stack);
    this.#asking = new Asking(world, stack);
    this.#otherBodies = new OtherBodies(world, this.#pushing, this.#asking);
    world.onRecorded = (collection, id) => this.#afterRecording(collection, id);
    world.onFailed = (submission) => this.#afterFailure(submission);
    world.onRetry = (submission) => this.#afterRetry(submission);
    if (world.faults.hasPausesAtSubmits) world.onSubmit = () => this.#pauseAtSubmit();
  }

  get pushes(): readonly Push[] {
    return this.#pushing.pushes;
  }

  /** Schedules a seed's actions until `end`. */
  plan(end: number): void {
    const { faults, random, timeline } = this.#world;
    if (faults.isLoad) return this.#planLoad();
    const sometime = () => drawTime(this.#world, end);
    /** Acts once, or every minute like people who see no change. */
    const act = (action: () => () => void) =>
      timeline.at(sometime(), () => {
        const again = action();
        again();
        if (!faults.strikes("client_insists")) return;
        for (let times = random.int(2, 8); times > 0; times -= 1) timeline.after(times * MINUTE, again);
      });
    for (const time of drawTimes(this.#world, end)) timeline.at(time, () => this.#push());
    for (let i = 0; i < ACTIONS; i += 1) {
      if (faults.strikes("client_cancel")) act(() => this.#cancel());
      if (faults.strikes("client_delete")) act(() => this.#deleteAny());
      if (faults.strikes("client_delete_collection")) act(() => this.#deleteCollection());
      if (faults.strikes("client_retry")) act(() => this.#retryAny());
      if (faults.strikes("client_pause")) act(() => this.#pause());
      if (faults.strikes("queue_malformed")) timeline.at(sometime(), () => this.#sendGarbage());
    }
  }

  /**
   * Takes the last actions, without faults: sends unfinished pushes again, ends pauses and retries some failures. Each
   * is repeated until it is answered.
   */
  settle(): void {
    const { mirror, random } = this.#world;
    if (random.chance(0.5)) this.#retryAny()();
    if (random.chance(0.2)) this.#cancel()();
    if (random.chance(0.2)) this.#deleteAny()();
    this.#pushing.settle();
    for (const scope of mirror.pauses.requested) this.#resume(targetOf(scope));
  }

  #planLoad(): void {
    const world = this.#world;
    // A chain that broke earlier. Another one may replace it.
    if (world.later.chance(0.7))
      world.sqlite.rows(
        "INSERT INTO heartbeats (name, at, token) VALUES ('chain', ?, 'broken')",
        world.timeline.now - 10 * MINUTE,
      );
    const { isBurst, times } = drawLoadTimes(world);
    boundPushToScore(world, isBurst);
    for (const time of times) {
      world.timeline.at(time, () => this.#pushing.start(drawSmallPush(this.pushes.length, world.random)));
    }
  }

  #push(): void {
    const { faults, later, random, timeline } = this.#world;
    const pushed = drawPush(this.pushes.length, random, faults);
    this.#pushing.start(pushed);
    const again = drawSecondSend(pushed, random, faults);
    if (again !== null) timeline.after(again, () => this.#pushing.startAgain(pushed));
    if (pushed.isKeyed && faults.strikes("client_other_body"))
      timeline.after(random.spread(1_000, 60 * MINUTE), () => this.#otherBodies.sendOther(pushed));
    if (pushed.isKeyed && faults.hasResumedPushes)
      timeline.after(later.spread(30_000, 30 * MINUTE), () => this.#otherBodies.resumeWithOtherPart(pushed));
    if (!faults.strikes("client_corrects_at_once")) return;
    const correction = () => drawCorrection(pushed, this.pushes.length, random, faults);
    timeline.after(random.int(0, 1_500), () => this.#pushing.start(correction()));
  }

  #afterRecording(collection: string, id: string): void {
    const { faults, random, timeline } = this.#world;
    if (faults.strikes("client_deletes_at_once"))
      timeline.after(random.spread(10, 600_000), () => this.#delete(collection, id));
  }

  #afterFailure(submission: string): void {
    const { faults, random, timeline } = this.#world;
    if (faults.strikes("client_retries_at_once"))
      timeline.after(random.spread(10, 60_000), () => this.#retry(submission));
  }

  #afterRetry(submission: string): void {
    const { faults, random, timeline } = this.#world;
    if (!faults.isOn || !random.chance(CANCELED_RETRIES)) return;
    faults.count("client_cancels_retry");
    timeline.after(random.spread(10, 300_000), () => this.#cancelOne(submission));
  }

  // These return the action that they drew, because it may run several times.

  #cancel(): () => void {
    const { mirror, random } = this.#world;
    if (mirror.submissions.size === 0) return () => undefined;
    const id = random.pick([...mirror.submissions.keys()]);
    return () => this.#cancelOne(id);
  }

  #cancelOne(id: string): void {
    const call = callOf({ path: `/v1/submissions/${id}/cancel`, parameters: { id } });
    const answered = this.#world.mirror.retries.cancel(id);
    this.#asking.ask("cancels a submission", cancelSubmission, () => call, answered);
  }

  #deleteAny(): () => void {
    const { mirror, random } = this.#world;
    const there = [...mirror.versions.values()].filter((version) => version.recorded && !version.deleted);
    if (there.length === 0) return () => undefined;
    const { collection, document } = random.pick(there);
    return () => this.#delete(collection, document);
  }

  #delete(collection: string, id: string): void {
    const path = `/v1/collections/${collection}/documents/${encodeURIComponent(id)}`;
    const call = callOf({ path, parameters: { collection, id } });
    this.#asking.ask("deletes a document", deleteDocument, () => call);
  }

  #deleteCollection(): () => void {
    const { mirror, random } = this.#world;
    if (mirror.submissions.size === 0) return () => undefined;
    const { collection } = random.pick([...mirror.submissions.values()]).row;
    const call = callOf({ path: `/v1/collections/${collection}`, parameters: { collection } });
    return () => {
      const before = [...mirror.submissions.values()].filter(({ row }) => row.collection === collection);
      this.#asking.ask(
        "deletes a collection",
        deleteCollection,
        () => call,
        ({ status }) => {
          const missed = before.find((submission) => !mirror.deletions.covers(submission));
          if (status === 202 && missed !== undefined)
            this.#world.fail(`the deletion of ${collection} was answered, but does not cover ${missed.row.id}`);
        },
      );
    };
  }

  #retryAny(): () => void {
    const { mirror, random } = this.#world;
    const failed = [...mirror.submissions.values()].filter(({ row }) => row.failed > 0);
    if (failed.length === 0) return () => undefined;
    const { id } = random.pick(failed).row;
    return () => this.#retry(id);
  }

  /** Retries every code, or the code of one of its failed documents. */
  #retry(id: string): void {
    const { mirror, random } = this.#world;
    const codes = [...mirror.versions.values()].flatMap(({ submission, outcome }) =>
      submission === id && outcome?.status === "failed" && outcome.code !== null ? [outcome.code] : [],
    );
    const query = codes.length > 0 && random.chance(0.15) ? `?code=${random.pick(codes)}` : "";
    const call = callOf({ path: `/v1/submissions/${id}/retry${query}`, parameters: { id } });
    this.#asking.ask("retries failed documents", retrySubmission, () => call);
  }

  /** Pauses and resumes later, or resumes a pause that may not exist. */
  #pause(): () => void {
    const { faults, mirror, random, timeline } = this.#world;
    const submissions = [...mirror.submissions.keys()];
    const targets: PauseTarget[] = [
      {},
      { model: DEFAULT_MODEL },
      ...(submissions.length > 0 ? [{ submission: random.pick(submissions) }] : []),
    ];
    const target = faults.pushesShareJobs ? (targets.at(-1) ?? {}) : random.pick(targets);
    if (random.chance(0.2)) return () => this.#resume(target);
    timeline.after(random.int(1, 20) * MINUTE, () => this.#resume(target));
    return () => {
      const inForce = this.#world.asked.ask(scopeOf(target));
      // A delayed pause may take effect after the resume. A client that gets its answer so late resumes again.
      this.#asking.ask("pauses dispatching", pause, jsonCall("/v1/pause", target), () => {
        inForce();
        if (!faults.isOn) this.#resume(target);
      });
    };
  }

  /** Pauses everything, or the model, while a batch is in flight to a service that may refuse it. */
  #pauseAtSubmit(): void {
    const { faults, later, timeline } = this.#world;
    if (!faults.isOn || !later.chance(0.15)) return;
    const target: PauseTarget = later.pick([{}, { model: DEFAULT_MODEL }]);
    timeline.after(later.int(1, 20) * MINUTE, () => this.#resume(target));
    const inForce = this.#world.asked.ask(scopeOf(target));
    this.#asking.ask("pauses dispatching", pause, jsonCall("/v1/pause", target), () => {
      inForce();
      if (!faults.isOn) this.#resume(target);
    });
  }

  #resume(target: PauseTarget): void {
    const answered = this.#world.asked.resume(scopeOf(target));
    this.#asking.ask("resumes dispatching", resume, jsonCall("/v1/resume", target), answered);
  }

  /** Replays a quarantined message to its queue. */
  #replayAny(): void {
    const { random, sqlite } = this.#world;
    const [row] = random.shuffled(sqlite.rows("SELECT queue, message_id FROM malformed_messages"));
    if (row === undefined) return;
    const id = writeMalformedId({ queue: String(row["queue"]), id: String(row["message_id"]) });
    const call = callOf({ path: `/v1/malformed/${id}/replay`, parameters: { id } });
    this.#asking.ask("replays a quarantined message", replayMalformed, () => call);
  }

  #sendGarbage(): void {
    const { later, random, timeline } = this.#world;
    timeline.after(random.spread(MINUTE, 60 * MINUTE), () => this.#replayAny());
    const queue = this.#stack.queues[random.pick(["interactive", "bulk"] as const)];
    const garbage = random.pick<unknown>([
      "not JSON",
      { an: "object" },
      '{"v":2,"kind":"part"}',
      '{"v":1,"kind":"staged","submission":"x"}',
    ]);
    queue.take(later.chance(0.3) ? PART_OF_NO_SUBMISSION : garbage);
  }
}
