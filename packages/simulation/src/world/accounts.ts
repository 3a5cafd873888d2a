import type { AskedPauses } from "../checks/asked-pauses.ts";
import type { Mirror } from "../checks/mirror.ts";
import { submitFlaw } from "../checks/dispatches.ts";
import { paymentFlaw } from "../checks/payments.ts";
import type { Content, Dispatch } from "../checks/state.ts";
import { MAX_BATCHES } from "../limits.ts";
import type { BatchEntry, SentBatch, SentRequest } from "./batch-answer.ts";
import { MAX_CLOCK_SKEW } from "./caller.ts";
import type { Invocation } from "./invocation.ts";
import type { Surroundings } from "./surroundings.ts";

interface AccountedWorld extends Surroundings {
  readonly mirror: Mirror;
  readonly asked: AskedPauses;
  /** Called each time Workers AI accepts a document. */
  readonly onPaid: (content: Content) => void;
}

/** How many bytes a request may exceed its row's count by: a separator, and the digits of its reference. */
const MAX_FRAME_BYTES = 16;

/** Assigns the calls to Workers AI to documents and dispatches. */
export interface Accounts {
  /**
   * Opens a batch as it arrives: its dispatch, and the document behind each request. Throws if the service must reject
   * it.
   */
  open(
    by: Invocation,
    model: string,
    batch: SentBatch,
  ): { readonly dispatch: Dispatch; readonly entries: readonly BatchEntry[] };
  /** Records that the service accepted these and computes them. */
  pay(entries: readonly BatchEntry[], dispatch: Dispatch): void;
  /** Records that a Worker got the answer to a batch. */
  answered(dispatch: Dispatch): void;
}

/** Accounts for Sluice's batches. Each must match a dispatch in D1, in its order, with the documents' own texts. */
export class DispatchAccounts implements Accounts {
  readonly #world: AccountedWorld;

  constructor(world: AccountedWorld) {
    this.#world = world;
  }

  open(by: Invocation, model: string, { requests, sentAt }: SentBatch) {
    const { d1Clock, mirror } = this.#world;
    const dispatch = mirror.dispatchFor(by, requests.map((request) => request.external_reference).join());
    if (dispatch === null) {
      this.#world.fail(`${by.name} sent a batch of ${requests.length} that no dispatch in D1 lists in this order`);
      throw new Error("5004: not listed");
    }
    dispatch.submitted = true;
    const late = submitFlaw(dispatch, sentAt, d1Clock.setSince(by.startedAt));
    if (late !== null) this.#world.fail(late);
    const pause =
      mirror.pauses.keepingBack(model, dispatch.list, by.startedAt) ??
      this.#world.asked.keepingBack(model, dispatch.list, by.startedAt);
    if (pause !== null)
      this.#world.fail(`${by.name} dispatched ${dispatch.job} although ${pause} was paused before the Worker started`);
    const own = this.#pausedItself(by, model);
    if (own !== null) this.#world.fail(`${by.name} dispatched ${dispatch.job} after it paused ${own} itself`);
    return { dispatch, entries: this.#entriesOf(dispatch, requests) };
  }

  pay(entries: readonly BatchEntry[], dispatch: Dispatch): void {
    const { d1Clock, mirror, timeline } = this.#world;
    const clockSetSince = (earlier: Dispatch) => d1Clock.setSince(earlier.by.startedAt);
    const counted = mirror.jobs.get(dispatch.job)?.row.batches ?? 0;
    for (const { version, request } of entries) {
      version.requestBytes ||= JSON.stringify(request).length;
      if (Math.abs(version.requestBytes - version.payloadBytes) > MAX_FRAME_BYTES)
        this.#world.fail(
          `${version.key} has payload_bytes ${version.payloadBytes}, but its request has ${version.requestBytes} bytes`,
        );
      const flaw = paymentFlaw(version, dispatch, timeline.now, clockSetSince);
      if (flaw !== null) this.#world.fail(flaw);
      this.#world.onPaid(version.content);
      if (!version.dispatches.has(dispatch)) continue;
      version.accepted += 1;
      if (version.accepted > Math.min(counted, MAX_BATCHES))
        this.#world.fail(`${version.key} is in ${version.accepted} batches, but its job counts ${counted}`);
    }
  }

  answered(dispatch: Dispatch): void {
    const job = this.#world.mirror.jobs.get(dispatch.job);
    if (job === undefined || job.row.dispatch_number === dispatch.number) return;
    this.#world.faults.count("answer_of_old_dispatch");
  }

  /**
   * Returns a pause in force that a consumer set itself and knows of: it has not given up a call since. A poller may
   * already have started other dispatches.
   */
  #pausedItself(by: Invocation, model: string): string | null {
    if (by.worker !== "consumer") return null;
    const { mirror } = this.#world;
    const now = this.#world.databaseNow();
    const isKnown = ([scope, at]: readonly [string, number]) =>
      [`model:${model}`, "all"].includes(scope) &&
      by.gaveUpAt < at &&
      (mirror.pauses.endOf(scope) ?? 0) > now + MAX_CLOCK_SKEW;
    return [...by.raised].find(isKnown)?.[0] ?? null;
  }

  #entriesOf(dispatch: Dispatch, requests: readonly SentRequest[]): BatchEntry[] {
    const { mirror } = this.#world;
    return dispatch.list.flatMap((key, index) => {
      const version = mirror.version(key);
      const request = requests[index];
      if (version === null || request === undefined) return [];
      const { query, contexts } = version.content;
      const sent = request.contexts.map((context) => context.text);
      if (request.query !== query || sent.join("\n") !== contexts.join("\n"))
        this.#world.fail(`${key} was sent with texts that are not its own`);
      return [{ request, version, isPoison: isPoison(query), isUnanswerable: isUnanswerable(query) }];
    });
  }
}

/** Whether the service always refuses a document. */
export function isPoison(query: string): boolean {
  return query.startsWith("poison");
}

/** Whether the service never returns a usable result for a document. */
export function isUnanswerable(query: string): boolean {
  return query.startsWith("unanswerable");
}
