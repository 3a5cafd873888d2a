import { sha256Hex } from "@sluice/core";
import { isStaged, mintDocumentIds, partBody, stagedBody, type PackedPart } from "@sluice/pipeline/message/message.ts";
import { stagePart } from "@sluice/pipeline/message/sql/stage-parts.ts";
import { runStep, type SendFailure } from "./run-step.ts";
import type { CallRounds } from "./call-rounds.ts";
import { ResumedParts } from "./resumed-parts.ts";
import type { OpenPush, SendingContext } from "./open-push.ts";

/**
 * Numbers and hashes the parts of a push, and decides about each: recorded parts of a resumed push are skipped, parts that
 * no message can hold are staged in D1, and all others go into calls.
 */
export class PartSender {
  readonly #context: SendingContext;
  readonly #push: OpenPush;
  readonly #rounds: CallRounds;
  readonly #counted: ResumedParts;
  #part = 0;
  /** Documents that were recorded before the push was taken over. */
  skipped = 0;

  constructor(context: SendingContext, push: OpenPush, rounds: CallRounds) {
    this.#context = context;
    this.#push = push;
    this.#rounds = rounds;
    this.#counted = new ResumedParts(push.total, push.counted);
  }

  /** Whether every part that was sent before the push was taken over came again. */
  get isAllTaken(): boolean {
    return this.#counted.isAllTaken;
  }

  async send(packed: PackedPart): Promise<SendFailure | null> {
    const { header, submission } = this.#push;
    const part = this.#part;
    this.#part += 1;
    mintDocumentIds(packed, submission);
    const { documentsJson, bytes, count } = packed;
    const hash = await sha256Hex(documentsJson);
    const status = this.#counted.take(part, hash, count);
    if (status === null || (this.#push.closed && status.uncounted > 0)) return "other_body";
    const { state, uncounted } = status;
    if (state === "recorded") {
      this.skipped += count;
      return null;
    }
    if (!isStaged(packed)) return this.#rounds.add({ part, content: { hash, documentsJson } }, bytes, uncounted);
    if (state !== "staged") {
      const failure = await this.#stage(part, partBody(header, part, hash, documentsJson), uncounted);
      if (failure !== null) return failure;
    }
    return this.#rounds.add({ part, content: null }, stagedBody(header, part).length, 0);
  }

  #stage(part: number, body: string, uncounted: number): Promise<SendFailure | null> {
    // A call in progress may raise the total too; the greater one stays.
    const staged = { part, body, total: this.#rounds.countStaged(uncounted) };
    return runStep(this.#context, this.#push, "part_not_staged", async () => {
      const { db, databaseTime } = this.#context;
      const { submission, holder } = this.#push;
      return (await stagePart(db, submission, staged, databaseTime(), holder)) ? null : "taken";
    });
  }
}
