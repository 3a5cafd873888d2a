import { consumeDelivery } from "@sluice/consumer/src/consume-delivery.ts";
import { DEFAULT_MODEL, type Lane } from "@sluice/core";
import { D1_TIME, openDatabase } from "@sluice/db";
import type { StepIo } from "@sluice/dispatch";
import { readConfiguration } from "@sluice/local/configuration";
import { runPoller } from "@sluice/poller/src/run-poller.ts";
import { acceptDocument } from "@sluice/producer/src/push/accepted.ts";
import { push } from "@sluice/producer/src/push/push.ts";
import { simulatedD1 } from "@sluice/simulation/src/d1/simulated-d1.ts";
import { Sqlite } from "@sluice/simulation/src/d1/sqlite.ts";
import { Random } from "@sluice/simulation/src/random.ts";
import { Timeline } from "@sluice/simulation/src/world/timeline.ts";
import type { BenchDocument } from "../documents.ts";
import { VirtualQueue, type QueueSettings } from "./queue.ts";
import { VirtualService, type Carry } from "./service.ts";

const START = Date.UTC(2026, 8, 21, 20);
const MINUTE = 60_000;
/** D1: on the way there and back, at work on a call, and on each row that it changes. Milliseconds. */
const D1 = { way: 5, call: 2, row: 0.02 };
const QUEUE_SEND = 20;

/**
 * Producer, consumer and poller as they are, over SQLite, on a clock that jumps: nothing fails, calls
 * take fixed times, D1 does one thing at a time, and the cron fires by the minute. Rates, batch sizes
 * and concurrency are those of the deployed configuration.
 */
export class VirtualWorld {
  readonly timeline = new Timeline(START);
  readonly service: VirtualService;
  /** When each document was accepted, and when its outcome was there. */
  readonly acceptedAt = new Map<string, number>();
  readonly endedAt = new Map<string, number>();
  readonly #random = new Random(7);
  readonly #io: StepIo;
  readonly #queues: Record<Lane, VirtualQueue>;
  #d1FreeAt = 0;
  #broken: Error | null = null;

  constructor(serviceTime: number) {
    const { timeline } = this;
    const carry: Carry = (there, back, work) =>
      new Promise((resolve, reject) => {
        timeline.after(there, () => {
          try {
            const value = work();
            this.#later(back, () => resolve(value));
          } catch (error) {
            this.#later(back, () => reject(error));
          }
        });
      });
    this.service = new VirtualService(carry, () => timeline.now, serviceTime);
    this.#io = {
      db: openDatabase(this.#openD1(), { tries: 1, bounded: (call) => call(), rest: async () => undefined }),
      ai: this.service.binding,
      bounded: (call) => call,
      now: () => timeline.now,
      databaseTime: () => D1_TIME,
      random: () => this.#random.next(),
      randomBytes: (count) => this.#random.bytes(count),
      runInterval: MINUTE,
      log: () => undefined,
    };
    const queue = (lane: Lane) =>
      new VirtualQueue(timeline, queueSettings(`sluice-${lane}`), async (name, messages) => {
        await consumeDelivery(
          this.#io,
          name,
          messages.map((message) => ({ ...message, attempts: 1 })),
        );
      });
    this.#queues = { interactive: queue("interactive"), bulk: queue("bulk") };
    this.#fireCron();
  }

  /** Pushes documents at a time, in milliseconds from the start. */
  pushAt(time: number, lane: Lane, documents: readonly BenchDocument[]): void {
    this.timeline.at(START + time, () => {
      this.timeline.wake();
      this.#push(lane, documents).catch((error: unknown) => {
        this.#broken = error instanceof Error ? error : new Error(String(error));
      });
    });
  }

  /** Lets time pass until `done`, or at most so many milliseconds from the start. */
  async run(most: number, done: () => boolean): Promise<void> {
    await this.timeline.runUntil(START + most, () => this.#broken !== null || done());
    if (this.#broken !== null) throw this.#broken;
  }

  async #push(lane: Lane, documents: readonly BenchDocument[]): Promise<void> {
    const options = { collection: "default", model: DEFAULT_MODEL, lane, label: null, truncateInputs: true };
    const items = documents.map((document, place) => {
      const accepted = acceptDocument(document, null, place, options);
      if (!accepted.ok) throw new Error("a document of the benchmark is not valid");
      return accepted.value;
    });
    const end = await push(
      {
        db: this.#io.db,
        queues: { interactive: this.#sender("interactive"), bulk: this.#sender("bulk") },
        databaseTime: this.#io.databaseTime,
        random: this.#io.randomBytes,
        log: () => undefined,
      },
      options,
      items,
    );
    if (end.kind !== "sent") throw new Error(`a push ended as ${end.kind}`);
    for (const { id } of documents) this.acceptedAt.set(id, this.timeline.now);
  }

  #sender(lane: Lane) {
    return {
      sendBatch: async (messages: Iterable<{ readonly body: string }>) => {
        const bodies = Array.from(messages, ({ body }) => body);
        await new Promise<void>((resolve) => {
          this.timeline.after(QUEUE_SEND, () => {
            this.#queues[lane].take(bodies);
            this.timeline.wake();
            resolve();
          });
        });
      },
    };
  }

  #openD1(): D1Database {
    const sqlite = new Sqlite();
    sqlite.now = () => this.timeline.now;
    let changed = 0;
    return simulatedD1(
      sqlite,
      (_, work) =>
        new Promise((resolve, reject) => {
          const starts = Math.max(this.timeline.now + D1.way, this.#d1FreeAt);
          // Held until the work is done, whose length is not known before.
          this.#d1FreeAt = starts + D1.call;
          this.timeline.at(starts, () => {
            try {
              changed = 0;
              const value = work();
              const takes = D1.call + changed * D1.row;
              this.#d1FreeAt = Math.max(this.#d1FreeAt, this.timeline.now + takes);
              this.#later(takes + D1.way, () => resolve(value));
            } catch (error) {
              this.#later(D1.way, () => reject(error));
            }
          });
        }),
      () => undefined,
      (changes) => {
        changed = changes.length;
        for (const [table, event, id] of changes) {
          if (table === "outcomes" && event === "insert") this.endedAt.set(String(id), this.timeline.now);
        }
      },
    );
  }

  #later(delay: number, go: () => void): void {
    this.timeline.after(delay, () => {
      this.timeline.wake();
      go();
    });
  }

  #fireCron(): void {
    this.timeline.after(MINUTE, () => {
      this.timeline.wake();
      void runPoller({ ...this.#io, stuckAfter: 60 * MINUTE });
      this.#fireCron();
    });
  }
}

function queueSettings(name: string): QueueSettings {
  const found = readConfiguration("consumer").queues?.consumers?.find(({ queue }) => queue === name);
  if (found === undefined) throw new Error(`the consumer's configuration has no queue ${name}`);
  return {
    name,
    batchSize: found.max_batch_size ?? 10,
    batchTimeout: (found.max_batch_timeout ?? 5) * 1_000,
    concurrency: found.max_concurrency ?? 10,
  };
}
