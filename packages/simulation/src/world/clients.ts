import { DEFAULT_MODEL, nameDocument, type SubmissionId } from "@sluice/core";
import { cancelSubmission } from "@sluice/producer/src/handlers/cancel-submission.ts";
import { deleteDocument } from "@sluice/producer/src/handlers/delete-document.ts";
import { pause, resume } from "@sluice/producer/src/handlers/pause.ts";
import { postDocuments } from "@sluice/producer/src/handlers/post-documents.ts";
import { retrySubmission } from "@sluice/producer/src/handlers/retry-submission.ts";
import type { Call, Handler } from "@sluice/producer/src/dependencies.ts";
import { versionKey } from "../checks/state.ts";
import type { Invocation } from "./invocation.ts";
import { bodyOf, drawPush, type Push } from "./pushes.ts";
import { answerOf, callOf, dependenciesOf, type Answer } from "./requests.ts";
import type { Stack } from "./stack.ts";
import { MINUTE, type World } from "./world.ts";

/** Times that a push is sent again before its client gives up; once faults have stopped, each goes through. */
const MOST_REPEATS = 4;

/** Times that a seed may cancel, delete, retry or pause. */
const ACTIONS = 4;

/** The people outside: they push, push again, cancel, delete, retry and pause, at times of the seed's choosing. */
export class Clients {
  readonly pushes: Push[] = [];
  readonly #world: World;
  readonly #stack: Stack;
  readonly #pushOf = new Map<Invocation, Push>();

  constructor(world: World, stack: Stack) {
    this.#world = world;
    this.#stack = stack;
    world.onSubmission = (id, by) => this.#learn(id as SubmissionId, by);
    world.onRecorded = (collection, id) => this.#afterRecording(collection, id);
    world.onFailed = (submission) => this.#afterFailure(submission);
  }

  /** Spreads a seed's actions over the time until `end`. */
  plan(end: number): void {
    const { faults, random, timeline } = this.#world;
    const sometime = () => timeline.now + random.int(0, Math.floor((end - timeline.now) * 0.8));
    const pushes = random.int(1, random.chance(0.2) ? 6 : 3);
    for (let i = 0; i < pushes; i += 1) timeline.at(i === 0 ? timeline.now : sometime(), () => this.#push());
    for (let i = 0; i < ACTIONS; i += 1) {
      if (faults.strikes("client_cancel")) timeline.at(sometime(), () => this.#cancel());
      if (faults.strikes("client_delete")) timeline.at(sometime(), () => this.#deleteAny());
      if (faults.strikes("client_retry")) timeline.at(sometime(), () => this.#retryAny());
      if (faults.strikes("client_pause")) timeline.at(sometime(), () => this.#pause());
      if (faults.strikes("queue_malformed")) timeline.at(sometime(), () => this.#sendGarbage());
    }
  }

  /** The last wishes, granted without a fault: pushes go through, what stands still goes on, some of what failed is tried again. */
  settle(): void {
    const { mirror, random, timeline } = this.#world;
    if (random.chance(0.5)) this.#retryAny();
    if (random.chance(0.2)) this.#cancel();
    if (random.chance(0.2)) this.#deleteAny();
    for (const pushed of this.pushes) {
      if (pushed.isKeyed && !pushed.accepted) timeline.after(random.int(0, 5 * MINUTE), () => this.#send(pushed, 0));
    }
    for (const scope of mirror.pauses.requested) this.#resume(targetOf(scope));
  }

  #push(): void {
    const { faults, random, timeline } = this.#world;
    const pushed = drawPush(this.pushes.length, random, faults);
    this.pushes.push(pushed);
    this.#send(pushed, 0);
    // The same push from two sides: of two requests with one key, one opens the submission.
    if (pushed.isKeyed && faults.strikes("client_sends_twice")) {
      timeline.after(random.pick([1, 1_000, 30_000, 70_000, 200_000]), () => this.#send(pushed, MOST_REPEATS));
    }
  }

  #send(pushed: Push, repeats: number): void {
    const { faults, random } = this.#world;
    const breaksOffAfter = faults.strikes("client_break_off") ? random.int(0, pushed.pieces.length) : null;
    this.#ask(
      `pushes ${pushed.documents.length}${pushed.isKeyed ? " under a key" : ""}`,
      postDocuments,
      (by) => {
        this.#pushOf.set(by, pushed);
        const body = bodyOf(pushed.pieces, breaksOffAfter, async () => {
          if (random.chance(0.1)) await by.sleep(random.spread(1, 5_000));
        });
        return callOf({ path: pushed.path, headers: pushed.headers, body });
      },
      (answer) => this.#hear(pushed, answer, repeats),
    );
  }

  #hear(pushed: Push, answer: Answer | null, repeats: number): void {
    const { faults, random, timeline } = this.#world;
    if (answer?.status === 202) return this.#accept(pushed, answer);
    if (answer?.status === 422) return this.#world.fail(`a push was refused as ${String(answer.body["title"])}`);
    if (!pushed.isKeyed || pushed.accepted || (faults.isOn && repeats >= MOST_REPEATS)) return;
    const wait = answer?.retryAfter == null ? random.spread(500, 3 * MINUTE) : answer.retryAfter * 1_000;
    timeline.after(wait, () => this.#send(pushed, repeats + 1));
  }

  #accept(pushed: Push, { body }: Answer): void {
    const { id } = body["submission"] as { id: string };
    if (id !== pushed.submission) this.#world.fail(`a push into ${pushed.submission} was answered with ${id}`);
    if (body["accepted"] !== pushed.documents.length)
      this.#world.fail(`a push of ${pushed.documents.length} was answered as ${String(body["accepted"])}`);
    pushed.accepted = true;
  }

  /** A submission's row is in D1: from here on its documents have keys. */
  #learn(id: SubmissionId, by: Invocation): void {
    const pushed = this.#pushOf.get(by);
    if (pushed === undefined) return this.#world.fail(`${by.name} opened a submission that nobody pushed`);
    if (pushed.submission !== null && pushed.isKeyed)
      return this.#world.fail(`${by.name} opened a second submission under one key`);
    pushed.submission = id;
    for (const document of pushed.documents) {
      this.#world.contents.set(versionKey(id, document.id ?? nameDocument(id, document.place)), document);
    }
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

  #ask(
    what: string,
    handle: Handler,
    call: (by: Invocation) => Call,
    hear: (answer: Answer | null) => void = () => undefined,
  ): void {
    const world = this.#world;
    world.trace.add("client", what);
    world.invoke(
      "producer",
      async (by) => answerOf(await handle(dependenciesOf(world, this.#stack, by), call(by))),
      (answer: Answer | null) => {
        world.trace.add("client", answer === null ? "hears nothing" : `hears ${answer.status}`);
        hear(answer);
      },
    );
  }

  #cancel(): void {
    const { mirror, random } = this.#world;
    if (mirror.submissions.size === 0) return;
    const id = random.pick([...mirror.submissions.keys()]);
    this.#ask("cancels a submission", cancelSubmission, () =>
      callOf({ path: `/v1/submissions/${id}/cancel`, parameters: { id } }),
    );
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
    this.#ask("deletes a document", deleteDocument, () => callOf({ path, parameters: { collection, id } }));
  }

  #retryAny(): void {
    const { mirror, random } = this.#world;
    const failed = [...mirror.submissions.values()].filter(({ row }) => row.failed > 0);
    if (failed.length > 0) this.#retry(random.pick(failed).row.id);
  }

  #retry(id: string): void {
    this.#ask("retries what failed", retrySubmission, () =>
      callOf({ path: `/v1/submissions/${id}/retry`, parameters: { id } }),
    );
  }

  #pause(): void {
    const { mirror, random, timeline } = this.#world;
    const submissions = [...mirror.submissions.keys()];
    const targets = [
      {},
      { model: DEFAULT_MODEL },
      ...(submissions.length > 0 ? [{ submission: random.pick(submissions) }] : []),
    ];
    const target = random.pick<object>(targets);
    this.#ask("pauses dispatching", pause, () => jsonCall("/v1/pause", target));
    timeline.after(random.int(1, 20) * MINUTE, () => this.#resume(target));
  }

  #resume(target: object): void {
    this.#ask("resumes dispatching", resume, () => jsonCall("/v1/resume", target));
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

function jsonCall(path: string, body: object): Call {
  const stream = bodyOf([JSON.stringify(body)], null, () => Promise.resolve());
  return callOf({ path, headers: { "content-type": "application/json" }, body: stream });
}

/** A pause's scope as a request names it. */
function targetOf(scope: string): object {
  const [kind = "", name] = scope.split(/:(.*)/s);
  return kind === "all" ? {} : { [kind]: name };
}
