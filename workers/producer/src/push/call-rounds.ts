import { MESSAGE_OVERHEAD_BYTES } from "@sluice/core";
import { fitsSend, partBody, stagedBody } from "@sluice/pipeline/message/message.ts";
import { raiseTotal, type SentPart } from "@sluice/pipeline/submission/sql/raise-total.ts";
import { runStep, type SendFailure } from "./run-step.ts";
import type { OpenPush, SendingContext } from "./open-push.ts";
import { sendWithRetries } from "./pushback.ts";

/**
 * A message that waits for its call, as bytes: long strings that outlive a young collection pile up in the old heap, and
 * bytes are outside the heap.
 */
export interface WaitingMessage {
  readonly part: number;
  /** `null`: the part is staged, and the message refers to it. */
  readonly content: { readonly hash: string; readonly documentsJson: Uint8Array } | null;
}

/** Calls that go out together, once `total` counts their documents. */
interface Round {
  /** The messages of each call. */
  readonly calls: WaitingMessage[][];
  /** Bytes in the last call. */
  bytes: number;
  /** Documents that `total` does not count yet. */
  uncounted: number;
  /** Parts of a push under a key, other than staged ones: kept so that it cannot be resumed with others. */
  readonly sent: SentPart[];
}

/** Calls that are filled at most while a round is in progress: 1 MB. */
const MAX_CALLS = 4;

function emptyRound(): Round {
  return { calls: [], bytes: 0, uncounted: 0, sent: [] };
}

/**
 * Sends messages in calls near 256 KB, and raises `total` by the documents of each call before it is made. While calls are
 * in progress the next ones are filled, four at most, which then go out together: a fast push waits less for D1 and the
 * Queue, and a slow one sends each call as soon as it is full.
 */
export class CallRounds {
  readonly #context: SendingContext;
  readonly #push: OpenPush;
  #total: number;
  #round = emptyRound();
  #inProgress: Promise<SendFailure | null> = Promise.resolve(null);
  #isInProgress = false;

  constructor(context: SendingContext, push: OpenPush) {
    this.#context = context;
    this.#push = push;
    this.#total = push.total;
  }

  /** Counts documents that are staged rather than sent; gives the total with them. */
  countStaged(documents: number): number {
    this.#total += documents;
    return this.#total;
  }

  /** `uncounted`: documents of the message that `total` does not count yet. */
  async add(message: WaitingMessage, bytes: number, uncounted: number): Promise<SendFailure | null> {
    const last = this.#round.calls.at(-1);
    if (last !== undefined && !fitsSend({ bytes: this.#round.bytes, messages: last.length }, bytes)) {
      if (this.#isInProgress && this.#round.calls.length < MAX_CALLS) {
        this.#round.calls.push([]);
        this.#round.bytes = 0;
      } else {
        const failure = await this.#start();
        if (failure !== null) return failure;
      }
    }
    if (this.#round.calls.length === 0) this.#round.calls.push([]);
    this.#round.calls.at(-1)?.push(message);
    this.#round.bytes += bytes + MESSAGE_OVERHEAD_BYTES;
    this.#round.uncounted += uncounted;
    // A push of one part is closed as it is opened, when the fingerprint of its body is known.
    if (this.#push.isKeyed && !this.#push.closed && message.content !== null)
      this.#round.sent.push({ part: message.part, hash: message.content.hash });
    return null;
  }

  /** Sends the messages that wait. `null`: the Queue took everything. */
  async finish(): Promise<SendFailure | null> {
    return (await this.#start()) ?? this.#inProgress;
  }

  /** Waits for the calls in progress: with the answer they would be cut off. */
  settle(): Promise<SendFailure | null> {
    return this.#inProgress;
  }

  /** Starts the calls that were filled, once those before have ended. */
  async #start(): Promise<SendFailure | null> {
    const failure = await this.#inProgress;
    if (failure !== null) return failure;
    const { calls, uncounted, sent } = this.#round;
    if (calls.length === 0) return null;
    this.#round = emptyRound();
    this.#total += uncounted;
    const raise = uncounted > 0 || sent.length > 0 ? this.#total : null;
    this.#isInProgress = true;
    this.#inProgress = runStep(this.#context, this.#push, "push_not_sent", async () => {
      const { db, databaseTime } = this.#context;
      const { submission, holder } = this.#push;
      if (raise !== null && !(await raiseTotal(db, submission, raise, databaseTime(), holder, sent))) return "taken";
      const answers = await Promise.allSettled(calls.map((call) => this.#send(call)));
      for (const one of answers) if (one.status === "rejected") throw one.reason;
      return null;
    }).finally(() => {
      this.#isInProgress = false;
    });
    return null;
  }

  #send(call: readonly WaitingMessage[]): Promise<void> {
    const queue = this.#context.queues[this.#push.header.lane];
    return sendWithRetries(this.#context, () =>
      queue.sendBatch(call.map((message) => ({ body: this.#body(message), contentType: "text" as const }))),
    );
  }

  #body({ part, content }: WaitingMessage): string {
    const { header } = this.#push;
    return content === null ? stagedBody(header, part) : partBody(header, part, content.hash, content.documentsJson);
  }
}
