import type { BatchBinding } from "@sluice/inference";

/** Carries a call over virtual time: `work` happens when it arrives. Times in milliseconds. */
export type Carry = <T>(there: number, back: number, work: () => T) => Promise<T>;

interface Batch {
  readonly readyAt: number;
  readonly requests: readonly { readonly contexts: readonly unknown[]; readonly external_reference: string }[];
}

const SUBMIT = 300;
const POLL = 80;

/** Workers AI without faults, which has every batch done after the same time. */
export class VirtualService {
  readonly binding: BatchBinding;
  readonly #batches = new Map<string, Batch>();
  #calls = 0;

  constructor(carry: Carry, now: () => number, serviceTime: number) {
    this.binding = {
      run: (model, inputs) => {
        this.#calls += 1;
        const { request_id: requestId, requests } = inputs;
        if (typeof requestId === "string") return carry(POLL, POLL, () => this.#answer(requestId, model, now()));
        return carry(SUBMIT / 2, SUBMIT / 2, () => {
          const id = `batch-${this.#batches.size + 1}`;
          this.#batches.set(id, { readyAt: now() + serviceTime, requests: requests as Batch["requests"] });
          return { status: "queued", request_id: id, model };
        });
      },
    };
  }

  get calls(): number {
    return this.#calls;
  }

  #answer(requestId: string, model: string, now: number): unknown {
    const batch = this.#batches.get(requestId);
    if (batch === undefined) throw new Error("3042: no such batch");
    if (now < batch.readyAt) return { status: "running", request_id: requestId, model };
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
