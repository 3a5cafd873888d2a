import {
  PartPacker,
  fitsSend,
  isStaged,
  partBody,
  stagedBody,
  type PackedPart,
  type PartHeader,
} from "@sluice/pipeline/message/message.ts";
import { sha256Hex, uuidTail, MESSAGE_OVERHEAD_BYTES, type SerializedDocument, type SubmissionId } from "@sluice/core";
import { closeSubmission, reopenSubmission } from "@sluice/pipeline/submission/sql/close-submission.ts";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import { isTransient } from "@sluice/db";
import { letGoOfPush, type CountedPart } from "@sluice/pipeline/submission/sql/take-over-push.ts";
import {
  openKeyedSubmission,
  openSubmission,
  type KeyClaim,
  type OpenedSubmission,
} from "@sluice/pipeline/submission/sql/open-submission.ts";
import { raiseTotal, type SentPart } from "@sluice/pipeline/submission/sql/raise-total.ts";
import { stagePart } from "@sluice/pipeline/message/sql/stage-parts.ts";
import type { SubmissionRow } from "@sluice/pipeline/submission/sql/read-submission.ts";
import type { ApiContext } from "../context.ts";
import { CountedParts } from "./counted-parts.ts";
import type { PushOptions } from "./options.ts";
import { sendWithRetries } from "./pushback.ts";

export type SendingContext = Pick<ApiContext, "db" | "queues" | "databaseTime" | "random" | "log"> & {
  /** Without it a Queue's pushback is not waited out. */
  readonly sleep?: ApiContext["sleep"];
};

/** A push that broke off, in the hands of this request. */
export interface TakenOver {
  readonly row: SubmissionRow;
  /** Its recorded and staged parts, at the time of the takeover. */
  readonly counted: readonly CountedPart[];
  readonly holder: string;
}

/** Why a push does not go on. */
export type SendingFailure =
  /** D1 or the Queue is out of order for now. */
  | "unsent"
  /** What came is not what was recorded under the same key. */
  | "other_body"
  /** Another request has it. */
  | "taken";

/**
 * A message that waits for its call, as bytes: long strings that outlive a young collection pile up
 * in the old heap, and bytes are not in the heap at all.
 */
interface WaitingMessage {
  readonly part: number;
  /** `null`: the part is staged, and the message refers to it. */
  readonly content: { readonly hash: string; readonly documents: Uint8Array } | null;
}

/** Calls that go out together, once `total` counts what they hold. */
interface SendRound {
  /** The messages of each call. */
  readonly calls: WaitingMessage[][];
  /** Bytes in the last call. */
  bytes: number;
  /** Documents that `total` does not count yet. */
  uncounted: number;
  /** Parts of a push under a key, other than staged ones: kept so that it cannot be resumed with others. */
  readonly sent: SentPart[];
}

/** Calls that are filled at most while a round is under way: 1 MB. */
const CALLS_A_ROUND = 4;

function emptyRound(): SendRound {
  return { calls: [], bytes: 0, uncounted: 0, sent: [] };
}

/** What every part of a push repeats. */
export function partHeader(submission: SubmissionId, options: PushOptions): PartHeader {
  const { collection, model, lane, truncateInputs } = options;
  return { submission, collection, model, lane, truncateInputs };
}

/**
 * A submission under way to the Queue. Documents become parts, parts fill calls near 256 KB, and
 * `total` counts what a call holds before it is made. While calls are under way the next are filled, four
 * at most, which then go out together: so a fast push waits less for D1 and the Queue, and a slow one sends
 * each as soon as it is full.
 * Methods give `false` once D1 or the Queue failed: the push broke off, and nothing more is sent.
 */
export class Sending {
  readonly submission: SubmissionId;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly #io: SendingContext;
  readonly #header: PartHeader;
  readonly #packer: PartPacker;
  readonly #closed: boolean;
  readonly #holder: string | null;
  readonly #isKeyed: boolean;
  readonly #counted: CountedParts;
  #part = 0;
  /** Documents of a push that was taken over which were recorded before. */
  skipped = 0;
  /** Why a method gave `false`. */
  failure: SendingFailure = "unsent";
  #total: number;
  #round = emptyRound();
  #underWay: Promise<boolean> = Promise.resolve(true);
  #isUnderWay = false;

  private constructor(
    io: SendingContext,
    options: PushOptions,
    opened: OpenedSubmission,
    first: { readonly total: number; readonly closed: boolean; readonly counted: readonly CountedPart[] },
    by: { readonly holder: string | null; readonly isKeyed: boolean },
  ) {
    this.submission = opened.id;
    this.createdAt = opened.createdAt;
    this.#io = io;
    this.#header = partHeader(opened.id, options);
    this.#packer = new PartPacker(this.#header);
    this.#closed = first.closed;
    this.#holder = by.holder;
    this.#isKeyed = by.isKeyed;
    this.#counted = new CountedParts(first.total, first.counted);
    this.#total = first.total;
  }

  /**
   * Writes the submission's row, under `claim` where there is one. `total` counts the documents of its
   * first part; `closed` says that there will be no other. `taken`: another push has the key.
   */
  static async open(
    io: SendingContext,
    options: PushOptions,
    first: { readonly total: number; readonly closed: boolean },
    claim: KeyClaim | null,
  ): Promise<Sending | "unsent" | "taken"> {
    try {
      const row = { ...options, ...first };
      const tail = uuidTail(io.random(10));
      const opened =
        claim === null
          ? await openSubmission(io.db, row, tail, io.databaseTime())
          : await openKeyedSubmission(io.db, row, claim, tail, io.databaseTime());
      return opened === null
        ? "taken"
        : new Sending(io, options, opened, { ...first, counted: [] }, { holder: null, isKeyed: claim !== null });
    } catch (error) {
      if (!isTransient(error)) throw error;
      io.log({ event: "push_not_opened", ...describeError(error) });
      return "unsent";
    }
  }

  /** Goes on with a push from its first document: parts that are recorded already are not sent again. */
  static resume(io: SendingContext, options: PushOptions, { row, counted, holder }: TakenOver): Sending {
    const first = { total: row.total, closed: row.closedAt !== null, counted };
    return new Sending(io, options, row, first, { holder, isKeyed: true });
  }

  async add(document: SerializedDocument): Promise<boolean> {
    const part = this.#packer.add(document);
    return part === null || this.#send(part);
  }

  /** Sends what is left and closes the submission. `true`: the Queue took everything. */
  async finish(): Promise<boolean> {
    const part = this.#packer.flush();
    const sent = (part === null || (await this.#send(part))) && (await this.#sendRound()) && (await this.#underWay);
    // What was sent before and did not come now: this is not the push that broke off.
    if (sent && !this.#counted.isAllTaken) return this.#fail("other_body");
    if (this.#closed) {
      if (!sent)
        await this.#attempt("push_not_reopened", () => reopenSubmission(this.#io.db, this.submission, this.#holder));
      return sent;
    }
    return sent && this.#attempt("push_not_closed", () => this.#close());
  }

  /** Gives up. What is under way comes to its end first: it would be cut off with the answer. */
  async stop(): Promise<void> {
    await this.#underWay;
  }

  /** Says that the push broke off, so that the same key may go on with it at once. */
  async letGo(): Promise<void> {
    await this.#attempt("push_not_let_go", () => letGoOfPush(this.#io.db, this.submission, this.#holder));
  }

  async #close(): Promise<void> {
    const closing = await closeSubmission(this.#io.db, this.submission, this.#io.databaseTime(), this.#holder);
    if (closing === "taken") this.#lose();
    if (closing === "given_up") throw new Error("the push was given up as abandoned");
  }

  #fail(failure: SendingFailure): false {
    this.failure = failure;
    return false;
  }

  async #send(packed: PackedPart): Promise<boolean> {
    const part = this.#part;
    this.#part += 1;
    const { documents, bytes, count } = packed;
    const hash = await sha256Hex(documents);
    const status = this.#counted.take(part, hash, count);
    if (status === null || (this.#closed && status.uncounted > 0)) return this.#fail("other_body");
    const { state, uncounted } = status;
    if (state === "recorded") {
      this.skipped += count;
      return true;
    }
    const message = { part, content: { hash, documents } };
    if (!isStaged(packed)) return this.#enqueue(message, bytes, uncounted);
    if (state !== "staged" && !(await this.#stage(part, this.#body(message), uncounted))) return false;
    return this.#enqueue({ part, content: null }, stagedBody(this.#header, part).length, 0);
  }

  async #stage(part: number, body: string, uncounted: number): Promise<boolean> {
    this.#total += uncounted;
    // The level as it is now: a call under way may raise it too, and the greater one stays.
    const staged = { part, body, total: this.#total };
    return this.#attempt("part_not_staged", async () => {
      const { db, databaseTime } = this.#io;
      if (!(await stagePart(db, this.submission, staged, databaseTime(), this.#holder))) this.#lose();
    });
  }

  async #enqueue(message: WaitingMessage, bytes: number, uncounted: number): Promise<boolean> {
    const last = this.#round.calls.at(-1);
    if (last !== undefined && !fitsSend({ bytes: this.#round.bytes, messages: last.length }, bytes)) {
      if (this.#isUnderWay && this.#round.calls.length < CALLS_A_ROUND) {
        this.#round.calls.push([]);
        this.#round.bytes = 0;
      } else if (!(await this.#sendRound())) {
        return false;
      }
    }
    if (this.#round.calls.length === 0) this.#round.calls.push([]);
    this.#round.calls.at(-1)?.push(message);
    this.#round.bytes += bytes + MESSAGE_OVERHEAD_BYTES;
    this.#round.uncounted += uncounted;
    // What fits one part is closed as it is opened, and its body's fingerprint is known by then.
    if (this.#isKeyed && !this.#closed && message.content !== null)
      this.#round.sent.push({ part: message.part, hash: message.content.hash });
    return true;
  }

  /** Starts the calls that were filled, when those before are through. */
  async #sendRound(): Promise<boolean> {
    if (!(await this.#underWay)) return false;
    const { calls, uncounted, sent } = this.#round;
    if (calls.length === 0) return true;
    this.#round = emptyRound();
    this.#total += uncounted;
    const raise = uncounted > 0 || sent.length > 0 ? this.#total : null;
    this.#isUnderWay = true;
    this.#underWay = this.#attempt("push_not_sent", async () => {
      const { db, databaseTime } = this.#io;
      if (raise !== null && !(await raiseTotal(db, this.submission, raise, databaseTime(), this.#holder, sent)))
        this.#lose();
      const answers = await Promise.allSettled(calls.map((call) => this.#sendCall(call)));
      for (const one of answers) if (one.status === "rejected") throw one.reason;
    }).finally(() => {
      this.#isUnderWay = false;
    });
    return true;
  }

  #sendCall(call: readonly WaitingMessage[]): Promise<void> {
    return sendWithRetries(this.#io, () =>
      this.#io.queues[this.#header.lane].sendBatch(
        call.map((message) => ({ body: this.#body(message), contentType: "text" as const })),
      ),
    );
  }

  #lose(): never {
    this.#fail("taken");
    throw new Error("the push is closed, or another request has it");
  }

  #body({ part, content }: WaitingMessage): string {
    if (content === null) return stagedBody(this.#header, part);
    return partBody(this.#header, part, content.hash, content.documents);
  }

  async #attempt(event: string, write: () => Promise<unknown>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      this.#io.log({ event, submission: this.submission, ...describeError(error) });
      return false;
    }
  }
}
