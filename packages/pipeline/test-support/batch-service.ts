import type { BatchBinding, ScoreRequest } from "@sluice/inference";

/** A call that the binding received. */
export type ServiceCall = SubmitCall | PollCall;
export interface SubmitCall {
  readonly kind: "submit";
  readonly model: string;
  readonly requests: readonly ScoreRequest[];
  /** UTF-8 bytes of the body as sent. */
  readonly bytes: number;
}
export interface PollCall {
  readonly kind: "poll";
  readonly model: string;
  readonly requestId: string;
}

/** One entry of an answer, before it is converted to shape A or B. */
export interface ServiceItem {
  readonly index: unknown;
  readonly success: boolean;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly external_reference?: string | null;
}

interface Batch {
  readonly model: string;
  readonly requests: readonly ScoreRequest[];
  polls: number;
}

/**
 * Computes a pair's score, in [0, 1), from its texts alone, so that a score for a wrong document or context is a wrong
 * number.
 */
export function scoreOf(query: string, text: string): number {
  let hash = 0x811c9dc5;
  for (const character of `${query}\n${text}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return (hash >>> 0) / 2 ** 32;
}

/**
 * Simulates Workers AI's Batch API behind `AI.run`. Its fields control its behavior. `onSubmit` and `onPoll` are called
 * first: the service returns or throws what they do, and answers itself after `undefined`.
 */
export class BatchService implements BatchBinding {
  readonly calls: ServiceCall[] = [];
  onSubmit: ((call: SubmitCall) => unknown) | null = null;
  onPoll: ((call: PollCall) => unknown) | null = null;
  /** Polls that find a batch in progress before one finds its answer. */
  pendingPolls = 0;
  shape: "A" | "B" = "A";
  /** The order of an answer's items, and of each item's contexts. */
  order: <T>(list: readonly T[]) => readonly T[] = (list) => list;
  /** The items of an answer for one request: one, several or none. */
  items: (item: ServiceItem, request: ScoreRequest) => readonly ServiceItem[] = (item) => [item];
  /** The form of an answer, such as a stream. */
  encode: (answer: object) => unknown = (answer) => answer;
  readonly #batches = new Map<string, Batch>();
  #named = 0;

  get submits(): SubmitCall[] {
    return this.calls.filter((call) => call.kind === "submit");
  }
  get polls(): PollCall[] {
    return this.calls.filter((call) => call.kind === "poll");
  }

  /** Drops every batch, as at the end of retention. */
  forget(): void {
    this.#batches.clear();
  }

  async run(model: string, inputs: Record<string, unknown>, options?: { queueRequest: true }): Promise<unknown> {
    const { requests, request_id: requestId, ...strange } = inputs;
    if (Object.keys(strange).length > 0) throw new TypeError(`the service received ${Object.keys(strange).join(", ")}`);
    if (options?.queueRequest === true && Array.isArray(requests) && requestId === undefined) {
      return this.#submit(model, requests as ScoreRequest[]);
    }
    if (options === undefined && typeof requestId === "string" && requests === undefined) {
      return this.#poll(model, requestId);
    }
    throw new TypeError("the service received neither a submit nor a poll");
  }

  async #submit(model: string, requests: readonly ScoreRequest[]): Promise<unknown> {
    const bytes = new TextEncoder().encode(JSON.stringify({ requests })).length;
    const call: SubmitCall = { kind: "submit", model, requests, bytes };
    this.calls.push(call);
    const answer = await this.onSubmit?.(call);
    if (answer !== undefined) return answer;
    this.#named += 1;
    const requestId = `batch-${this.#named}`;
    this.#batches.set(requestId, { model, requests, polls: 0 });
    return { status: "queued", model, request_id: requestId };
  }

  async #poll(model: string, requestId: string): Promise<unknown> {
    const call: PollCall = { kind: "poll", model, requestId };
    this.calls.push(call);
    const answer = await this.onPoll?.(call);
    if (answer !== undefined) return answer;
    const batch = this.#batches.get(requestId);
    if (batch === undefined || batch.model !== model) throw serviceError("3042: request_id not found");
    batch.polls += 1;
    if (batch.polls <= this.pendingPolls) {
      return { status: batch.polls === 1 ? "queued" : "running", request_id: requestId, model };
    }
    return this.encode(this.answer(batch.requests));
  }

  /** The answer to these requests, in the configured shape and order. */
  answer(requests: readonly ScoreRequest[]): object {
    const items = requests.flatMap((request, index) => this.items(this.#item(request, index), request));
    const ordered = this.order(items);
    if (this.shape === "B") return { results: ordered };
    return {
      responses: ordered.map(({ index, ...item }) => ({ id: index, ...item })),
      usage: { prompt_tokens: 10 * requests.length, completion_tokens: 0, total_tokens: 10 * requests.length },
    };
  }

  #item(request: ScoreRequest, index: number): ServiceItem {
    const scores = request.contexts.map(({ text }, id) => ({ id, score: scoreOf(request.query, text) }));
    return {
      index,
      success: true,
      result: { response: this.order(scores) },
      external_reference: request.external_reference,
    };
  }
}

/** Creates an error like those of the platform's `AI` binding. */
export function serviceError(message: string): Error {
  const error = new Error(message);
  error.name = "InferenceUpstreamError";
  return error;
}

export function reversed<T>(list: readonly T[]): readonly T[] {
  return list.toReversed();
}

/** Shuffles a list. Lists of the same length always get the same order. */
export function shuffled<T>(list: readonly T[]): readonly T[] {
  const result = [...list];
  let state = list.length;
  for (let last = result.length - 1; last > 0; last -= 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = state % (last + 1);
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}

/**
 * Converts an answer to a stream, as for a content type that is not exactly `application/json`. Also splits inside
 * characters.
 */
export function asStream(answer: object): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(JSON.stringify(answer));
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + 1_021));
      at += 1_021;
    },
  });
}
