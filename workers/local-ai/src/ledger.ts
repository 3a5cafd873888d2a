import type { Store } from "./batches.ts";
import { NO_FAULTS, type Plan } from "./plan.ts";

/** The answer of `GET /calls`. Counts since the plan was set or removed, or the runtime started. */
export interface Calls {
  submit: { calls: number; taken: number; requests: number; contexts: number };
  poll: { calls: number; answered: number };
  direct: { calls: number; contexts: number };
}

function noCalls(): Calls {
  return {
    submit: { calls: 0, taken: 0, requests: 0, contexts: 0 },
    poll: { calls: 0, answered: 0 },
    direct: { calls: 0, contexts: 0 },
  };
}

/**
 * The active plan and the counts under it. Counts are in the memory of the one isolate that the local runtime gives a
 * Worker; the plan is in the store.
 */
export class Ledger {
  #plan: Plan | null = null;
  calls: Calls = noCalls();
  /** How often each rule for items applied to each query. */
  strikes = new Map<string, number>();
  readonly #polls = new Map<string, number>();

  /** Counts a poll of this batch and returns its number. */
  countPoll(requestId: string): number {
    const number = (this.#polls.get(requestId) ?? 0) + 1;
    this.#polls.set(requestId, number);
    return number;
  }

  async plan(store: Store): Promise<Plan> {
    if (this.#plan === null) {
      const kept = await store.plan();
      this.#plan ??= kept ?? NO_FAULTS;
    }
    return this.#plan;
  }

  /** `null` removes the plan. Either way all counts restart. */
  async setPlan(store: Store, plan: Plan | null): Promise<void> {
    await (plan === null ? store.deletePlan() : store.putPlan(plan));
    this.#plan = plan ?? NO_FAULTS;
    this.calls = noCalls();
    this.strikes = new Map();
    this.#polls.clear();
  }
}
