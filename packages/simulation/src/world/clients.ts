import { DEFAULT_MODEL } from "@sluice/core";
import { cancelSubmission } from "@sluice/producer/src/handlers/cancel-submission.ts";
import { deleteDocument } from "@sluice/producer/src/handlers/delete-document.ts";
import { pause, resume } from "@sluice/producer/src/handlers/pause.ts";
import { retrySubmission } from "@sluice/producer/src/handlers/retry-submission.ts";
import type { Call, Handler } from "@sluice/producer/src/dependencies.ts";
import type { Invocation } from "./invocation.ts";
import { boundPushToScore, drawLoadTimes, drawSmallPush } from "./load.ts";
import { bodyOf, drawPush, drawSecondSend, drawTime, drawTimes, type Push } from "./pushes.ts";
import type { Pushing } from "./pushing.ts";
import { pushingIntoSluice } from "./pushing-into-sluice.ts";
import { answerOf, callOf, dependenciesOf, type Answer } from "./requests.ts";
import type { Stack } from "./stack.ts";
import { MINUTE, type World } from "./world.ts";

/** Times that a seed may cancel, delete, retry or pause. */
const ACTIONS = 4;

/** The people outside: they push, push again, cancel, delete, retry and pause, at times of the seed's choosing. */
export class Clients {
  readonly #world: World;
  readonly #stack: Stack;
  readonly #pushing: Pushing;

  constructor(world: World, stack: Stack) {
    this.#world = world;
    this.#stack = stack;
    this.#pushing = pushingIntoSluice(world, stack);
    world.onRecorded = (collection, id) => this.#afterRecording(collection, id);
    world.onFailed = (submission) => this.#afterFailure(submission);
  }

  get pushes(): readonly Push[] {
    return this.#pushing.pushes;
  }

  /** Spreads a seed's actions over the time until `end`. */
  plan(end: number): void {
    const { faults, timeline } = this.#world;
    if (faults.isLoad) return this.#planLoad();
    const sometime = () => drawTime(this.#world, end);
    for (const time of drawTimes(this.#world, end)) timeline.at(time, () => this.#push());
    for (let i = 0; i < ACTIONS; i += 1) {
      if (faults.strikes("client_cancel")) timeline.at(sometime(), () => this.#cancel());
      if (faults.strikes("client_delete")) timeline.at(sometime(), () => this.#deleteAny());
      if (faults.strikes("client_retry")) timeline.at(sometime(), () => this.#retryAny());
      if (faults.strikes("client_pause")) timeline.at(sometime(), () => this.#pause());
      if (faults.strikes("queue_malformed")) timeline.at(sometime(), () => this.#sendGarbage());
    }
  }

  /**
   * The last actions, without a fault: unfinished pushes are sent again, pauses end, some of what failed is
   * retried. Each is repeated until it is answered.
   */
  settle(): void {
    const { mirror, random } = this.#world;
    if (random.chance(0.5)) this.#retryAny();
    if (random.chance(0.2)) this.#cancel();
    if (random.chance(0.2)) this.#deleteAny();
    this.#pushing.settle();
    for (const scope of mirror.pauses.requested) this.#resume(targetOf(scope));
  }

  #planLoad(): void {
    const world = this.#world;
    boundPushToScore(world, this.pushes);
    for (const time of drawLoadTimes(world)) {
      world.timeline.at(time, () => this.#pushing.start(drawSmallPush(this.pushes.length, world.random)));
    }
  }

  #push(): void {
    const { faults, random, timeline } = this.#world;
    const pushed = drawPush(this.pushes.length, random, faults);
    this.#pushing.start(pushed);
    const again = drawSecondSend(pushed, random, faults);
    if (again !== null) timeline.after(again, () => this.#pushing.startAgain(pushed));
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

  #ask(what: string, handle: Handler, callFor: (by: Invocation) => Call, answered: () => void = () => {}): void {
    const world = this.#world;
    const { faults, random, timeline } = world;
    world.trace.add("client", what);
    world.invoke<Answer>(
      "producer",
      async (by) => answerOf(await handle(dependenciesOf(world, this.#stack, by), callFor(by))),
      (answer) => {
        world.trace.add("client", answer === null ? "hears nothing" : `hears ${answer.status}`);
        if (answer !== null && answer.status < 500) return answered();
        // While there is trouble, people act at other times too. Their last action is repeated until it is answered.
        if (!faults.isOn) timeline.after(random.spread(500, MINUTE), () => this.#ask(what, handle, callFor, answered));
      },
    );
  }

  #cancel(): void {
    const { mirror, random } = this.#world;
    if (mirror.submissions.size === 0) return;
    const id = random.pick([...mirror.submissions.keys()]);
    const call = callOf({ path: `/v1/submissions/${id}/cancel`, parameters: { id } });
    this.#ask("cancels a submission", cancelSubmission, () => call);
  }

  #deleteAny(): void {
    const { mirror, random } = this.#world;
    const there = [...mirror.versions.values()].filter((version) => version.recorded && !version.deleted);
    if (there.length === 0) return;
    const { collection, document } = random.pick(there);
    this.#delete(collection, document);
  }

  #delete(collection: string, id: string): void {
    const path = `/v1/collections/${collection}/documents/${encodeURIComponent(id)}`;
    const call = callOf({ path, parameters: { collection, id } });
    this.#ask("deletes a document", deleteDocument, () => call);
  }

  #retryAny(): void {
    const { mirror, random } = this.#world;
    const failed = [...mirror.submissions.values()].filter(({ row }) => row.failed > 0);
    if (failed.length > 0) this.#retry(random.pick(failed).row.id);
  }

  #retry(id: string): void {
    const call = callOf({ path: `/v1/submissions/${id}/retry`, parameters: { id } });
    this.#ask("retries what failed", retrySubmission, () => call);
  }

  #pause(): void {
    const { faults, mirror, random, timeline } = this.#world;
    const submissions = [...mirror.submissions.keys()];
    const targets: PauseTarget[] = [
      {},
      { model: DEFAULT_MODEL },
      ...(submissions.length > 0 ? [{ submission: random.pick(submissions) }] : []),
    ];
    const target = random.pick(targets);
    const inForce = this.#world.asked.ask(scopeOf(target));
    // One that was held up may take effect after it was resumed: who hears of it so late resumes again.
    this.#ask("pauses dispatching", pause, jsonCall("/v1/pause", target), () => {
      inForce();
      if (!faults.isOn) this.#resume(target);
    });
    timeline.after(random.int(1, 20) * MINUTE, () => this.#resume(target));
  }

  #resume(target: PauseTarget): void {
    this.#world.asked.resume(scopeOf(target));
    this.#ask("resumes dispatching", resume, jsonCall("/v1/resume", target));
  }

  #sendGarbage(): void {
    const { random } = this.#world;
    const queue = this.#stack.queues[random.pick(["interactive", "bulk"] as const)];
    queue.take(
      random.pick<unknown>([
        "not JSON",
        { an: "object" },
        '{"v":2,"kind":"part"}',
        '{"v":1,"kind":"staged","submission":"x"}',
      ]),
    );
  }
}

/** A call with a JSON body, which can be read once: each request has its own. */
function jsonCall(path: string, body: object): (by: Invocation) => Call {
  return (by) => {
    const stream = bodyOf(by, [JSON.stringify(body)], { breaksOffAfter: null, pause: () => Promise.resolve() });
    return callOf({ path, headers: { "content-type": "application/json" }, body: stream });
  };
}

interface PauseTarget {
  readonly model?: string;
  readonly submission?: string;
}

function scopeOf({ model, submission }: PauseTarget): string {
  if (submission !== undefined) return `submission:${submission}`;
  return model === undefined ? "all" : `model:${model}`;
}

/** A pause's scope as a request names it. */
function targetOf(scope: string): PauseTarget {
  const [kind = "", name] = scope.split(/:(.*)/s);
  return kind === "all" ? {} : { [kind]: name };
}
