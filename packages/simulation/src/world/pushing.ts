import type { Call } from "@sluice/producer/src/context.ts";
import type { Invocation } from "./invocation.ts";
import { bodyOf, type Push } from "./pushes.ts";
import { callOf, type Answer } from "./requests.ts";
import { MINUTE, type World } from "./world.ts";

/** Maximum retries of a push before its client gives up. After the faults stop, every push succeeds. */
const MAX_REPEATS = 4;

/**
 * How long a push may be reported as in progress after its request has ended: a minute, another if D1's clock was set
 * back and repeats it, plus the time by which its calls may be late.
 */
const MAX_REPORTED_MS = 6 * MINUTE;

/** The entry point for pushes. */
export interface Door {
  /** The handler of a push. */
  readonly post: (by: Invocation, call: Call) => Promise<Answer>;
  /** Called with each 202 answer. */
  readonly accepted: (push: Push, answer: Answer) => void;
}

/** Sends pushes as clients do: again if there was no good answer, interrupted, or twice at once. */
export class Pushing {
  readonly pushes: Push[] = [];
  readonly #world: World;
  readonly #door: Door;
  readonly #pushOf = new Map<Invocation, Push>();

  constructor(world: World, door: Door) {
    this.#world = world;
    this.#door = door;
  }

  /** Returns the push that a producer is handling. */
  pushOf(by: Invocation): Push | undefined {
    return this.#pushOf.get(by);
  }

  start(push: Push): void {
    this.pushes.push(push);
    this.#send(push, 0);
  }

  /** Sends the same push from another client. */
  startAgain(push: Push): void {
    this.#send(push, MAX_REPEATS);
  }

  /** Sends keyed pushes that were not accepted once more. They succeed now. */
  settle(): void {
    const { random, timeline } = this.#world;
    for (const push of this.pushes) {
      if (push.isKeyed && !push.accepted && !push.isDeleted)
        timeline.after(random.int(0, 5 * MINUTE), () => this.#send(push, 0));
    }
  }

  #send(push: Push, repeats: number): void {
    const world = this.#world;
    const { faults, random, timeline, trace } = world;
    const disconnectsAfter = faults.strikes("client_break_off") ? random.int(0, push.pieces.length) : null;
    const stallsAfter = faults.strikes("client_stalls") ? random.int(0, push.pieces.length) : null;
    trace.add("client", `pushes ${push.documents.length}${push.isKeyed ? " under a key" : ""}`);
    const startedAt = timeline.now;
    push.firstSentAt ??= startedAt;
    push.inProgress += 1;
    world.invoke<Answer>(
      "producer",
      (by) => {
        this.#pushOf.set(by, push);
        let sent = 0;
        const pause = async () => {
          if (sent === stallsAfter) await by.sleep(random.int(61, 100) * MINUTE);
          sent += 1;
          if (random.chance(0.1)) await by.sleep(random.spread(1, 5_000));
        };
        const body = bodyOf(by, push.pieces, { disconnectsAfter, pause });
        return this.#door.post(by, callOf({ path: push.path, headers: push.headers, body }));
      },
      (answer) => {
        trace.add("client", answer === null ? "gets no answer" : `gets ${answer.status}`);
        this.ended(push, answer, startedAt);
        this.#onAnswer(push, answer, repeats);
      },
    );
  }

  /**
   * Checks a request of a push that has ended. If the answer reports another one in progress, there is one, or was a
   * moment ago.
   */
  ended(push: Push, answer: Answer | null, startedAt: number): void {
    const { timeline } = this.#world;
    push.inProgress -= 1;
    push.lastEndedAt = timeline.now;
    const holder = this.#world.mirror.submissions.get(push.submission ?? "")?.heldBy;
    if (!isOfAnother(answer) || push.accepted || holder === undefined || holder.isRunning) {
      push.reported = null;
      return;
    }
    if (push.reported?.holder !== holder) push.reported = { holder, since: timeline.now };
    const reported = startedAt - push.reported.since;
    if (reported > MAX_REPORTED_MS)
      this.#world.fail(
        `${push.submission} is reported as in progress for ${reported} ms, but ${holder.name} has ended`,
      );
  }

  /** Whether D1 records a Worker that was recently active for it. A Worker that dies does not release it. */
  #isHeld({ submission }: Push): boolean {
    const row = this.#world.mirror.submissions.get(submission ?? "")?.row;
    const isOpen = row !== undefined && row.closed_at === null && row.holder !== null && row.holder !== "";
    return isOpen && Math.abs(this.#world.databaseNow() - row.active_at) < 2 * MINUTE;
  }

  #onAnswer(push: Push, answer: Answer | null, repeats: number): void {
    const { d1Clock, faults, later, random, timeline } = this.#world;
    if (answer === null && faults.hasResumedPushes && later.chance(0.7) && this.#isHeld(push))
      d1Clock.setBack(later.int(20, 60) * MINUTE);
    if (answer?.status === 202) {
      this.#door.accepted(push, answer);
      push.accepted = true;
      return;
    }
    if (answer?.status === 422) return this.#world.fail(`a push was refused as ${String(answer.body["title"])}`);
    if (!push.isKeyed || push.accepted || push.isDeleted) return;
    // It can never be resumed.
    if (answer?.status === 409 && String(answer.body["detail"]).includes("collection was deleted")) {
      push.isDeleted = true;
      return;
    }
    if (faults.isOn && repeats >= MAX_REPEATS) {
      // The other request is in progress: retry.
      if (isOfAnother(answer) && faults.hasResumedPushes)
        timeline.after(later.int(1, 5) * MINUTE, () => this.#send(push, repeats));
      return;
    }
    const wait = answer?.retryAfter == null ? random.spread(500, 3 * MINUTE) : answer.retryAfter * 1_000;
    timeline.after(wait, () => this.#send(push, repeats + 1));
    if (faults.strikes("client_sends_twice"))
      timeline.after(wait + random.int(1, 15_000), () => this.#send(push, MAX_REPEATS));
  }
}

/** Whether the answer reports that another request holds its push. */
function isOfAnother(answer: Answer | null): boolean {
  return answer?.status === 409 && answer.body["submission"] === undefined;
}
