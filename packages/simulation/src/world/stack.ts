import { consumeDelivery } from "@sluice/consumer/src/consume-delivery.ts";
import { STUCK_AFTER_MINUTES, type Lane } from "@sluice/core";
import { withDatabaseClock } from "@sluice/dispatch";
import { runPoller } from "@sluice/poller/src/run-poller.ts";
import { BodiesInWork } from "@sluice/producer/src/push/bodies-in-work.ts";
import { SimulatedQueue, type Consume, type QueuedMessage } from "./queue.ts";
import { MINUTE, type World } from "./world.ts";

/** The consumer and the poller, wired to their queues and to cron as their entry files and configurations do. */
export class Stack {
  readonly queues: Readonly<Record<Lane, SimulatedQueue>>;
  /** The producer's isolate. */
  readonly bodies = new BodiesInWork();
  readonly #all: readonly SimulatedQueue[];
  readonly #world: World;
  #polling = 0;

  constructor(world: World) {
    this.#world = world;
    const consume: Consume = (queue, batch) => this.#consume(queue, batch);
    const lane = (name: Lane, retryDelay: number, batchTimeout: number) => {
      const dead = new SimulatedQueue(
        world,
        {
          name: `sluice-${name}-dead`,
          maxRetries: 100,
          retryDelay: 15 * MINUTE,
          batchTimeout: 5_000,
          concurrency: 1,
          dead: null,
        },
        consume,
      );
      const live = new SimulatedQueue(
        world,
        { name: `sluice-${name}`, maxRetries: 4, retryDelay, batchTimeout, concurrency: 3, dead },
        consume,
      );
      return { live, dead };
    };
    const interactive = lane("interactive", 5_000, 1_000);
    const bulk = lane("bulk", 30_000, 5_000);
    this.queues = { interactive: interactive.live, bulk: bulk.live };
    this.#all = [interactive.live, interactive.dead, bulk.live, bulk.dead];
  }

  get messages(): number {
    return this.#all.reduce((sum, queue) => sum + queue.size, 0);
  }

  poll(): void {
    const world = this.#world;
    if (this.#polling > 0) world.faults.count("cron_overlapping");
    this.#polling += 1;
    world.invoke(
      "poller",
      (by) => runPoller({ ...world.stepIo(by), stuckAfter: STUCK_AFTER_MINUTES * MINUTE }),
      () => {
        this.#polling -= 1;
      },
    );
  }

  #consume(queue: SimulatedQueue, batch: readonly QueuedMessage[]): void {
    const world = this.#world;
    world.invoke(
      "consumer",
      async (by) => {
        const delivered = batch.map(({ id, body, attempts }) => ({ id, body, attempts: attempts + 1 }));
        return consumeDelivery(await withDatabaseClock(world.stepIo(by)), queue.settings.name, delivered);
      },
      (decisions) => queue.settle(batch, decisions),
    );
  }
}
