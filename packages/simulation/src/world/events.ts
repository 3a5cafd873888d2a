import type { SimulatedQueue } from "./queue.ts";
import type { Surroundings } from "./surroundings.ts";

const MINUTE = 60_000;

/** An accepted batch, as reported by its events. */
interface ReportedBatch {
  readonly requestId: string;
  readonly model: string;
  /** `Infinity` if never. */
  readonly readyAt: number;
  readonly hasFailed: boolean;
}

type EventType = "queued" | "succeeded" | "failed";

/**
 * Workers AI's event subscription, with all its faults: events are lost, repeated, delayed, reordered, sent before an
 * answer is ready, malformed, or about another batch of the account.
 */
export class SimulatedEvents {
  /** The target of the events; `null` if there is no subscription. */
  queue: SimulatedQueue | null = null;
  readonly #world: Surroundings;
  /** Whether this seed has a subscription. */
  readonly isOn: boolean;
  #foreign = 0;

  constructor(world: Surroundings) {
    this.#world = world;
    this.isOn = world.random.chance(0.75);
  }

  /** Schedules the events of an accepted batch. */
  report({ requestId, model, readyAt, hasFailed }: ReportedBatch): void {
    const { faults, random, timeline } = this.#world;
    const now = timeline.now;
    if (random.chance(0.3)) this.#sendAt(now, eventOf("queued", requestId, model));
    if (faults.strikes("event_foreign")) {
      this.#foreign += 1;
      this.#sendAt(now + random.int(0, MINUTE), eventOf("succeeded", `foreign-${this.#foreign}`, model));
    }
    if (faults.strikes("event_malformed"))
      this.#sendAt(
        now,
        random.pick<unknown>([null, "not JSON", {}, { kind: "continue_run" }, eventOf("failed", "", model)]),
      );
    const ended = eventOf(hasFailed ? "failed" : "succeeded", requestId, model);
    if (faults.strikes("event_early")) this.#sendAt(now, ended);
    if (readyAt === Infinity || faults.strikes("event_lost")) return;
    if (faults.strikes("event_repeated")) this.#sendAt(readyAt + random.spread(1, 2 * MINUTE), ended);
    let delay = random.int(0, 500);
    if (faults.strikes("event_delayed")) delay = random.spread(5_000, 3 * 60 * MINUTE);
    else if (faults.strikes("event_reordered")) delay = random.int(1_000, 2 * MINUTE);
    this.#sendAt(readyAt + delay, ended);
  }

  #sendAt(time: number, event: unknown): void {
    if (!this.isOn || this.queue === null) return;
    const { queue } = this;
    this.#world.timeline.at(time, () => queue.take(event));
  }
}

function eventOf(type: EventType, requestId: string, modelName: string): object {
  return {
    type: `cf.workersAi.model.batch.${type}`,
    source: { type: "workersAi.model", modelName },
    payload: { requestId },
    metadata: { accountId: "a", eventSubscriptionId: "s", eventSchemaVersion: 1 },
  };
}
