import type { StruckItem } from "./faults.ts";
import type { Plan } from "./plan.ts";

/** One list for each request of a batch, a score for each of its contexts. */
export type Scores = readonly (readonly number[])[];

/** An accepted batch: the data for its answer, without texts. */
export interface Batch {
  readonly model: string;
  /** Its number among the batches accepted since the plan was set or the runtime started. */
  readonly number: number;
  /** When it was accepted, in milliseconds since the epoch. */
  readonly submittedAt: number;
  /** One for each request; `null` if the caller sent none. */
  readonly references: readonly (string | null)[];
  /** `null` while the model is working. */
  readonly scores: Scores | null;
  readonly tokens: number;
  readonly struck: readonly StruckItem[];
}

/**
 * The stand-in's storage, in KV: the local runtime keeps it on disk, so it survives a restart. A value may have 25 MB;
 * a payload has less than 10 MB.
 */
export class Store {
  readonly #kv: KVNamespace;

  constructor(kv: KVNamespace) {
    this.#kv = kv;
  }

  /** Only this code writes these values, so they are cast to their types. */
  async batch(requestId: string): Promise<Batch | null> {
    return this.#kv.get<Batch>(`batch:${requestId}`, "json");
  }

  async putBatch(requestId: string, batch: Batch): Promise<void> {
    await this.#kv.put(`batch:${requestId}`, JSON.stringify(batch));
  }

  /** The payload of a batch that the model has not scored yet, as JSON text. */
  async payload(requestId: string): Promise<string | null> {
    return this.#kv.get(`payload:${requestId}`, "text");
  }

  async putPayload(requestId: string, payload: string): Promise<void> {
    await this.#kv.put(`payload:${requestId}`, payload);
  }

  async deletePayload(requestId: string): Promise<void> {
    await this.#kv.delete(`payload:${requestId}`);
  }

  async plan(): Promise<Plan | null> {
    return this.#kv.get<Plan>("plan", "json");
  }

  async putPlan(plan: Plan): Promise<void> {
    await this.#kv.put("plan", JSON.stringify(plan));
  }

  async deletePlan(): Promise<void> {
    await this.#kv.delete("plan");
  }
}
