import { err, ok, type Result } from "@sluice/core";
import type { BatchBinding } from "@sluice/inference";
import type { Timeline } from "@sluice/simulation/src/world/timeline.ts";
import type { VirtualInvocation } from "./invocations.ts";

interface Batch {
  readonly readyAt: number;
  readonly requests: readonly { readonly contexts: readonly unknown[]; readonly external_reference: string }[];
}

const SUBMIT_MS = 300;
const POLL_MS = 200;
/** Milliseconds from the end of a batch to its event in the queue. */
const EVENT_MS = 100;
/** Bytes uploaded per millisecond. */
const BYTES_PER_MS = 10_000;
const RATE_WINDOW_MS = 60_000;

/** Workers AI without faults. Every batch takes the same time. */
export class VirtualService {
  readonly #timeline: Timeline;
  readonly #serviceTime: number;
  /** Documents that each document of a batch represents. */
  readonly #scale: number;
  /** Receives the event of each finished batch, if events are on. */
  onReady: (event: object) => void = () => undefined;
  readonly #batches = new Map<string, Batch>();
  readonly #submits: number[] = [];
  #polls = 0;

  /** Times in milliseconds. */
  constructor(timeline: Timeline, serviceTime: number, scale: number) {
    this.#timeline = timeline;
    this.#serviceTime = serviceTime;
    this.#scale = scale;
  }

  get submits(): number {
    return this.#submits.length;
  }

  get polls(): number {
    return this.#polls;
  }

  /** Submits in the busiest minute. */
  get maxSubmitsPerMinute(): number {
    let first = 0;
    let most = 0;
    for (const [last, time] of this.#submits.entries()) {
      while ((this.#submits[first] ?? time) <= time - RATE_WINDOW_MS) first += 1;
      most = Math.max(most, last - first + 1);
    }
    return most;
  }

  bindingFor(by: VirtualInvocation): BatchBinding {
    return {
      run: (model, inputs) => {
        const { request_id: requestId, requests } = inputs;
        return by.call(async () => {
          if (typeof requestId === "string") return this.#poll(requestId, model);
          return this.#submit(requests as Batch["requests"], model, by);
        });
      },
    };
  }

  #poll(requestId: string, model: string): Promise<unknown> {
    this.#polls += 1;
    return this.#carry(POLL_MS / 2, POLL_MS / 2, () => this.#answer(requestId, model));
  }

  async #submit(requests: Batch["requests"], model: string, by: VirtualInvocation): Promise<unknown> {
    const bytes = JSON.stringify(requests).length * this.#scale;
    const answer = await this.#carry(SUBMIT_MS / 2 + bytes / BYTES_PER_MS, SUBMIT_MS / 2, () => {
      const id = `batch-${this.submits + 1}`;
      this.#submits.push(this.#timeline.now);
      this.#batches.set(id, { readyAt: this.#timeline.now + this.#serviceTime, requests });
      this.#timeline.after(this.#serviceTime + EVENT_MS, () => this.onReady(succeeded(id, model)));
      return { status: "queued", request_id: id, model };
    });
    by.release(bytes);
    return answer;
  }

  /** Delays a call on virtual time: `work` runs when it arrives. */
  #carry<T>(there: number, back: number, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#timeline.after(there, () => {
        const settle = attempt(work);
        this.#timeline.after(back, () => {
          this.#timeline.wake();
          if (settle.ok) resolve(settle.value);
          else reject(settle.error);
        });
      });
    });
  }

  #answer(requestId: string, model: string): unknown {
    const batch = this.#batches.get(requestId);
    if (batch === undefined) throw new Error("3042: no such batch");
    if (this.#timeline.now < batch.readyAt) return { status: "running", request_id: requestId, model };
    return {
      responses: batch.requests.map(({ contexts, external_reference }, id) => ({
        id,
        success: true,
        external_reference,
        result: { response: contexts.map((_, index) => ({ id: index, score: 1 / (index + 1) })) },
      })),
      usage: { total_tokens: batch.requests.length },
    };
  }
}

/** The event as an event subscription sends it. */
function succeeded(requestId: string, modelName: string): object {
  return {
    type: "cf.workersAi.model.batch.succeeded",
    source: { type: "workersAi.model", modelName },
    payload: { requestId },
    metadata: { eventSchemaVersion: 1 },
  };
}

function attempt<T>(work: () => T): Result<T, unknown> {
  try {
    return ok(work());
  } catch (error) {
    return err(error);
  }
}
