import { DEFAULT_MODEL, type Lane } from "@sluice/core";
import { countStatements } from "@sluice/db";
import { consumeEvents } from "@sluice/pipeline/job/consume-events.ts";
import { EVERYTHING } from "@sluice/pipeline/job/pause-scopes.ts";
import { runPoller, type PollerContext } from "@sluice/pipeline/job/run-poller.ts";
import { pauseDispatching, resumeDispatching } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import { consumeDelivery } from "@sluice/pipeline/message/consume-delivery.ts";
import type { DeliveredMessage } from "@sluice/pipeline/message/delivery.ts";
import { D1_TIME } from "@sluice/pipeline/platform/clock.ts";
import type { Context } from "@sluice/pipeline/platform/context.ts";
import { MemoryLimit } from "@sluice/pipeline/platform/memory.ts";
import { acceptDocument } from "@sluice/producer/src/push/accepted.ts";
import { push } from "@sluice/producer/src/push/push.ts";
import { Random } from "@sluice/simulation/src/random.ts";
import { standInForPlatform } from "@sluice/simulation/src/run/platform.ts";
import { Timeline } from "@sluice/simulation/src/world/timeline.ts";
import type { BenchDocument } from "../documents.ts";
import { VirtualD1 } from "./d1.ts";
import { VirtualIsolate, type VirtualInvocation, type WorkerName } from "./invocations.ts";
import { queueSettings, VirtualQueue, type Decisions, type QueueSettings } from "./queue.ts";
import { VirtualService } from "./service.ts";

const START = Date.UTC(2026, 8, 21, 20);
const MINUTE_MS = 60_000;
const QUEUE_SEND_MS = 20;

export interface WorldOptions {
  /** Milliseconds that Workers AI takes for a batch. */
  readonly serviceTime: number;
  /** Whether the service sends an event when a batch is done. */
  readonly events?: boolean;
  /** The delivery settings of the lanes' queues; the deployed configuration by default. */
  readonly delivery?: Partial<Omit<QueueSettings, "name">>;
  /** Milliseconds from the start until cron first fires, less than a minute. */
  readonly cronFrom?: number;
  /**
   * Documents that each pushed document represents: its job has the weight and writes of all of them. A minute of full
   * jobs is a gigabyte, too much for a measurement.
   */
  readonly scale?: number;
}

let isPlatformReady = false;

/** Once per thread. The clock does not wait for other threads, so a digest computed in one would take virtual time. */
function preparePlatform(): void {
  if (!isPlatformReady) standInForPlatform();
  isPlatformReady = true;
}

/**
 * The real producer, consumer and poller over SQLite, on a clock that jumps. Nothing fails, calls take fixed times, D1
 * runs one call at a time, and cron fires every minute. Rates, batch sizes and concurrency are those of the deployed
 * configuration unless `delivery` says otherwise.
 */
export class VirtualWorld {
  readonly timeline = new Timeline(START);
  readonly service: VirtualService;
  /** When each document was accepted and when it had its outcome, in milliseconds from the start. */
  readonly acceptedAt = new Map<string, number>();
  readonly endedAt = new Map<string, number>();
  readonly isolates: Readonly<Record<WorkerName, VirtualIsolate>> = {
    producer: new VirtualIsolate(),
    consumer: new VirtualIsolate(),
    poller: new VirtualIsolate(),
  };
  readonly #memory: Readonly<Record<WorkerName, MemoryLimit>> = {
    producer: new MemoryLimit(),
    consumer: new MemoryLimit(),
    poller: new MemoryLimit(),
  };
  readonly #random = new Random(7);
  readonly #d1: VirtualD1;
  readonly #queues: Record<Lane, VirtualQueue>;
  readonly #events: VirtualQueue;
  #broken: Error | null = null;

  constructor({ serviceTime, events = false, delivery, cronFrom = 0, scale = 1 }: WorldOptions) {
    const { timeline } = this;
    preparePlatform();
    this.service = new VirtualService(timeline, serviceTime, scale);
    this.#events = new VirtualQueue(timeline, queueSettings("poller", "sluice-events"), (_, messages) =>
      this.#invoke("poller", (by) => consumeEvents(this.#pollerContext(by), messages)),
    );
    if (events) this.service.onReady = (event) => this.#events.take([JSON.stringify(event)]);
    this.#d1 = new VirtualD1(timeline, {
      scale,
      committed: (changes) => {
        for (const [table, event, id] of changes) {
          if (table === "outcomes" && event === "insert") this.endedAt.set(String(id), this.elapsed);
        }
      },
    });
    const queue = (lane: Lane) => {
      const settings = queueSettings("consumer", `sluice-${lane}`);
      return new VirtualQueue(timeline, { ...settings, ...delivery }, (name, messages) =>
        this.#consume(name, messages, scale),
      );
    };
    this.#queues = { interactive: queue("interactive"), bulk: queue("bulk") };
    this.#fireCron(Math.max(1, Math.ceil(cronFrom / MINUTE_MS)) * MINUTE_MS);
  }

  /** Milliseconds since the start. */
  get elapsed(): number {
    return this.timeline.now - START;
  }

  /** Pushes documents at a time, in milliseconds from the start. */
  pushAt(time: number, lane: Lane, documents: readonly BenchDocument[]): void {
    this.#startAt(time, "producer", (by) => this.#push(by, lane, documents));
  }

  pauseEverythingAt(time: number): void {
    this.#startAt(time, "producer", (by) => {
      const since = this.timeline.now;
      const pause = { scope: EVERYTHING, reason: "requested", message: null, since, until: null } as const;
      return pauseDispatching(this.#d1.openFor(by), pause);
    });
  }

  resumeEverythingAt(time: number): void {
    this.#startAt(time, "producer", (by) => resumeDispatching(this.#d1.openFor(by), EVERYTHING, this.timeline.now));
  }

  /** Advances time until `done`, or to the given time in milliseconds from the start. */
  async run(until: number, done: () => boolean = () => false): Promise<void> {
    await this.timeline.runUntil(START + until, () => this.#broken !== null || done());
    if (this.#broken !== null) throw this.#broken;
  }

  #startAt(time: number, worker: WorkerName, run: (by: VirtualInvocation) => Promise<unknown>): void {
    this.timeline.at(START + time, () => void this.#invoke(worker, run));
  }

  async #invoke<T>(worker: WorkerName, run: (by: VirtualInvocation) => Promise<T>): Promise<T | null> {
    const by = this.isolates[worker].start();
    this.timeline.wake();
    try {
      return await run(by);
    } catch (error) {
      this.#broken ??= error instanceof Error ? error : new Error(String(error));
      return null;
    } finally {
      by.end();
    }
  }

  #contextOf(worker: WorkerName, by: VirtualInvocation): Context {
    const db = this.#d1.openFor(by);
    return {
      db,
      statements: () => countStatements(db),
      memory: this.#memory[worker],
      ai: this.service.bindingFor(by),
      bounded: (call) => call,
      now: () => this.timeline.now,
      databaseTime: () => D1_TIME,
      random: () => this.#random.next(),
      randomBytes: (count) => this.#random.bytes(count),
      runInterval: MINUTE_MS,
      log: () => undefined,
    };
  }

  #pollerContext(by: VirtualInvocation): PollerContext {
    return {
      ...this.#contextOf("poller", by),
      stuckAfter: 60 * MINUTE_MS,
      maxDatabaseBytes: 9_500_000_000,
      retain: null,
      continueLater: (token) => this.#send(this.#events, [JSON.stringify({ kind: "continue_run", token })]),
      sleep: (milliseconds) =>
        new Promise((resolve) => {
          this.timeline.after(milliseconds, () => {
            this.timeline.wake();
            resolve();
          });
        }),
    };
  }

  #consume(name: string, messages: readonly DeliveredMessage[], scale: number): Promise<Decisions | null> {
    return this.#invoke("consumer", (by) => {
      by.hold(messages.reduce((sum, { body }) => sum + String(body).length, 0) * scale);
      return consumeDelivery(this.#contextOf("consumer", by), name, messages);
    });
  }

  async #push(by: VirtualInvocation, lane: Lane, documents: readonly BenchDocument[]): Promise<void> {
    const options = { collection: "default", model: DEFAULT_MODEL, lane, label: null, truncateInputs: true };
    const items = documents.map((document, index) => {
      const accepted = acceptDocument(document, null, index, options);
      if (!accepted.ok) throw new Error("a document of the benchmark is invalid");
      return accepted.value;
    });
    const { db, databaseTime, randomBytes, log } = this.#contextOf("producer", by);
    const queues = { interactive: this.#sender("interactive"), bulk: this.#sender("bulk") };
    const end = await push({ db, queues, databaseTime, random: randomBytes, log }, options, items);
    if (end.kind !== "sent") throw new Error(`a push ended as ${end.kind}`);
    for (const { id } of documents) this.acceptedAt.set(id, this.elapsed);
  }

  #sender(lane: Lane) {
    return {
      sendBatch: (messages: Iterable<{ readonly body: string }>) =>
        this.#send(
          this.#queues[lane],
          Array.from(messages, ({ body }) => body),
        ),
    };
  }

  #send(queue: VirtualQueue, bodies: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      this.timeline.after(QUEUE_SEND_MS, () => {
        queue.take(bodies);
        this.timeline.wake();
        resolve();
      });
    });
  }

  #fireCron(delay: number): void {
    this.timeline.after(delay, () => {
      void this.#invoke("poller", (by) => runPoller(this.#pollerContext(by)));
      this.#fireCron(MINUTE_MS);
    });
  }
}
