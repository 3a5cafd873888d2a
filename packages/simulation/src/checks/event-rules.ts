import type { MessageDecision } from "@sluice/pipeline/message/delivery.ts";
import type { QueuedMessage } from "../world/queued-message.ts";
import type { Job } from "./state.ts";

/** Maximum deliveries of an event whose batch belongs to no open job: the first, and two after a delay. */
const MAX_DELIVERIES = 3;

/** The rules for one delivery of the events queue: it polls the batches that its messages name, each once. */
export class EventDelivery {
  /** The batch that each message reports as ended, by the message's id. */
  readonly #reported = new Map<string, string>();
  readonly #polled = new Set<string>();
  /** Reported batches that belong to a dispatched job when the delivery starts. */
  readonly #open: ReadonlySet<string>;
  /** Whether it continues a run, which polls due jobs. */
  readonly #continuesRun: boolean;
  readonly #messages: readonly QueuedMessage[];
  readonly #jobs: ReadonlyMap<string, Job>;

  constructor(messages: readonly QueuedMessage[], jobs: ReadonlyMap<string, Job>) {
    this.#messages = messages;
    this.#jobs = jobs;
    this.#continuesRun = messages.some(({ body }) => fieldOf(body, "kind") === "continue_run");
    for (const { id, body } of messages) {
      const type = fieldOf(body, "type");
      const requestId = fieldOf(fieldOf(body, "payload"), "requestId");
      if (typeof type !== "string" || !/\.(succeeded|failed)$/.test(type)) continue;
      if (typeof requestId === "string" && requestId !== "") this.#reported.set(id, requestId);
    }
    this.#open = this.#findOpen();
  }

  /** Lists the chain tokens that its messages carry. */
  get chainTokens(): string[] {
    return this.#messages.map(({ body }) => fieldOf(body, "token")).filter((token) => typeof token === "string");
  }

  /** Records a poll by the invocation that handles the delivery. Returns its flaw, or `null`. */
  pollFlaw(requestId: string): string | null {
    if (this.#continuesRun) return null;
    if (![...this.#reported.values()].includes(requestId)) return `polled ${requestId}, which no event names`;
    if (this.#polled.has(requestId)) return `polled ${requestId} twice for a delivery of events`;
    this.#polled.add(requestId);
    return null;
  }

  /** Whether it polled a reported batch. */
  get hasPolled(): boolean {
    return this.#polled.size > 0;
  }

  /** Returns the flaw in the decisions about its messages, or `null`. */
  decisionFlaw(decisions: ReadonlyMap<string, MessageDecision>): string | null {
    const stillOpen = this.#findOpen();
    for (const { id, attempts } of this.#messages) {
      const requestId = this.#reported.get(id);
      if (requestId === undefined) continue;
      const delivery = attempts + 1;
      const isPolled = this.#polled.has(requestId);
      const isRetried = decisions.get(id)?.kind === "retry";
      if (isRetried && delivery >= MAX_DELIVERIES) return `retries an event of ${requestId} at delivery ${delivery}`;
      if (this.#continuesRun || isRetried || isPolled) continue;
      if (delivery < MAX_DELIVERIES) return `drops an event of ${requestId} at delivery ${delivery}`;
      if (this.#open.has(requestId) && stillOpen.has(requestId)) return `ignores an event of ${requestId}`;
    }
    return null;
  }

  #findOpen(): Set<string> {
    const names = new Set(this.#reported.values());
    const open = new Set<string>();
    for (const { row } of this.#jobs.values()) {
      if (row.status === "dispatched" && row.request_id !== null && names.has(row.request_id)) open.add(row.request_id);
    }
    return open;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
