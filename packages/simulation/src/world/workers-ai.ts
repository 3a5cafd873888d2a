import { STUCK_AFTER_MINUTES } from "@sluice/pipeline/job/schedule.ts";
import type { BatchBinding } from "@sluice/inference";
import type { Dispatch } from "../checks/state.ts";
import { answerBatch, type BatchAnswer, type BatchEntry, type SentBatch, type SentRequest } from "./batch-answer.ts";
import type { Random } from "../random.ts";
import { streamOf } from "./forms.ts";
import type { Invocation } from "./invocation.ts";
import { MAX_LOAD_SERVICE_MS } from "./kinds.ts";
import type { Passage } from "./ports.ts";
import { refusalOf } from "./refusals.ts";
import { codedError, unclearAnswer, unclearError } from "./service-errors.ts";
import type { Accounts } from "./accounts.ts";
import type { SimulatedEvents } from "./events.ts";
import type { PoisonMode } from "./poison.ts";
import type { Surroundings } from "./surroundings.ts";

interface ServiceWorld extends Surroundings {
  readonly accounts: Accounts;
  readonly events: SimulatedEvents;
  readonly poisonMode: PoisonMode;
  readonly later: Random;
  /** Called when a batch is sent, before it arrives. */
  readonly onSubmit: () => void;
}

interface Batch {
  readonly requestId: string;
  readonly model: string;
  readonly dispatch: Dispatch;
  readonly entries: readonly BatchEntry[];
  readonly takenAt: number;
  /** `Infinity` if never answered. */
  readonly readyAt: number;
  /** When the service forgets it. */
  readonly forgottenAt: number;
  /** Whether every poll of it fails. */
  readonly isUnpollable: boolean;
  readonly end: "answered" | "failed" | "failed_in_part" | "invalid";
  answer: BatchAnswer | null;
}

const MINUTE = 60_000;
/**
 * Twice the longest time after which a batch with failing polls is given up, because runs may be missed and D1 may be
 * down.
 */
const MAX_POLLED_MS = 4 * STUCK_AFTER_MINUTES * MINUTE;

/** Workers AI's Batch API behind `AI.run`, with all its faults. Checks each call against D1. */
export class SimulatedAi {
  readonly #world: ServiceWorld;
  readonly #batches = new Map<string, Batch>();

  constructor(world: ServiceWorld) {
    this.#world = world;
  }

  bindingFor(by: Invocation): BatchBinding {
    return {
      run: (model, inputs, options) => {
        const { requests, request_id: requestId } = inputs;
        if (options?.queueRequest === true && Array.isArray(requests))
          return this.#submit(by, model, requests as SentRequest[]);
        if (options === undefined && typeof requestId === "string") return this.#poll(by, model, requestId);
        this.#world.fail("a call to Workers AI is neither a batch nor a poll");
        return Promise.reject(new Error("5004: neither a batch nor a poll"));
      },
    };
  }

  #submit(by: Invocation, model: string, requests: readonly SentRequest[]): Promise<unknown> {
    const { faults, later, ports, random } = this.#world;
    let passage: Passage = { fault: null };
    if (faults.strikes("submit_answer_lost")) passage = { fault: "submit_answer_lost", error: unclearError(random) };
    else if (faults.strikes("ai_stall")) passage = { fault: "ai_stall", back: random.int(61_000, 100_000) };
    else if (faults.hasPausesAtSubmits && faults.isOn) passage = { fault: null, back: later.spread(50, 40_000) };
    const sentAt = this.#world.databaseNow();
    this.#world.onSubmit();
    return ports.call(by, `submit x${requests.length}`, passage, () =>
      this.#take(by, model, { requests, sentAt }, passage.fault !== null),
    );
  }

  #take(by: Invocation, model: string, sent: SentBatch, unheard: boolean): unknown {
    const { accounts, faults, random, timeline } = this.#world;
    const { dispatch, entries } = accounts.open(by, model, sent);
    const refusal = refusalOf(this.#world, dispatch, entries);
    if (refusal !== null || unheard) this.#turnAway(entries);
    if (refusal !== null) return refusal();

    accounts.pay(entries, dispatch);
    const takenAt = timeline.now;
    dispatch.takenAt = takenAt;
    const requestId = `batch-${this.#batches.size + 1}`;
    const [readyAt, forgottenAt] = this.#times(takenAt);
    dispatch.readyAt = readyAt;
    const batch: Batch = {
      requestId,
      model,
      dispatch,
      entries,
      takenAt,
      readyAt,
      forgottenAt,
      isUnpollable: faults.strikes("batch_unpollable"),
      end: this.#endOf(entries),
      answer: null,
    };
    this.#batches.set(requestId, batch);
    this.#world.events.report({ ...batch, hasFailed: batch.end === "failed" || batch.end === "invalid" });
    dispatch.requestId = requestId;
    this.#world.trace.add(
      "workers-ai",
      `accepts ${dispatch.job.slice(-6)} dispatch ${dispatch.number} as ${requestId}`,
    );
    if (faults.strikes("submit_without_request_id")) {
      if (!unheard) this.#turnAway(entries);
      return unclearAnswer(random);
    }
    const answer = { status: "queued", model, request_id: requestId };
    if (faults.strikes("answer_stream")) return streamOf(JSON.stringify(answer));
    return faults.strikes("answer_nested") ? { success: true, result: answer } : answer;
  }

  #turnAway(entries: readonly BatchEntry[]): void {
    for (const { version } of entries) version.turnedAway += 1;
  }

  #times(takenAt: number): readonly [readyAt: number, forgottenAt: number] {
    const { faults, random } = this.#world;
    if (faults.isLoad) return [takenAt + random.int(1_000, MAX_LOAD_SERVICE_MS), Infinity];
    const ready = takenAt + (faults.isOn ? random.spread(2_000, 5 * MINUTE) : random.int(1_000, 45_000));
    if (faults.strikes("batch_stuck")) return [Infinity, Infinity];
    if (faults.strikes("batch_slow")) return [takenAt + random.int(20, 100) * MINUTE, Infinity];
    if (faults.strikes("batch_forgotten")) return [ready, takenAt + random.spread(1_000, 10 * MINUTE)];
    return [ready, Infinity];
  }

  #endOf(entries: readonly BatchEntry[]): Batch["end"] {
    const { faults, poisonMode } = this.#world;
    if (poisonMode === "batch" && entries.some((entry) => entry.isPoison)) return "invalid";
    if (faults.strikes("batch_failed")) return "failed";
    return faults.strikes("batch_failed_in_part") ? "failed_in_part" : "answered";
  }

  #poll(by: Invocation, model: string, requestId: string): Promise<unknown> {
    const { d1Clock, faults, ports, random, timeline } = this.#world;
    const batch = this.#batches.get(requestId);
    // Other designs record no dispatches, and have no limit for giving up a batch.
    const isOurs = batch !== undefined && batch.dispatch.job !== "";
    // A Worker that started before D1's clock was adjusted plans the first poll by the old time.
    const maxPolled = MAX_POLLED_MS + d1Clock.setSince(batch?.dispatch.by.startedAt ?? 0);
    if (isOurs && timeline.now - batch.takenAt > maxPolled)
      this.#world.fail(`${requestId} is polled ${timeline.now - batch.takenAt} ms after it was accepted`);
    const flaw = by.events?.pollFlaw(requestId) ?? null;
    if (flaw !== null) this.#world.fail(`${by.name} ${flaw}`);
    let passage: Passage = { fault: null };
    if (batch?.isUnpollable === true) passage = { fault: "batch_unpollable", lost: true, error: unclearError(random) };
    else if (faults.strikes("poll_error")) passage = { fault: "poll_error", lost: true, error: unclearError(random) };
    else if (faults.strikes("poll_answer_lost")) passage = { fault: "poll_answer_lost", error: unclearError(random) };
    else if (faults.strikes("ai_stall")) passage = { fault: "ai_stall", back: random.int(40_000, 100_000) };
    return ports.call(by, `poll ${requestId}`, passage, () => this.#report(model, requestId));
  }

  #report(model: string, requestId: string): unknown {
    const { faults, random, timeline } = this.#world;
    const batch = this.#batches.get(requestId);
    if (batch === undefined || batch.model !== model) {
      this.#world.fail(`${requestId} was polled with the wrong model ${model}`);
      return codedError(random, 3042, "request_id not found")();
    }
    if (faults.strikes("poll_configuration")) return codedError(random, 10_000, "Authentication error")();
    const now = timeline.now;
    if (now >= batch.forgottenAt || faults.strikes("poll_unknown_for_a_moment")) {
      batch.dispatch.reported.add("over");
      this.#turnAway(batch.entries);
      return codedError(random, random.pick([3042, 5004]), "request_id not found")();
    }
    if (now < batch.readyAt) {
      const status = now - batch.takenAt < (batch.readyAt - batch.takenAt) / 2 ? "queued" : "running";
      return { status, request_id: requestId, model };
    }
    this.#world.trace.add("workers-ai", `reports ${requestId}: ${batch.end}`);
    return this.#answer(batch);
  }

  #answer(batch: Batch): unknown {
    const { accounts, faults, random } = this.#world;
    const { dispatch, entries, end } = batch;
    accounts.answered(dispatch);
    if (end === "invalid") {
      faults.count("batch_invalid_at_poll");
      dispatch.reported.add("invalid");
      for (const { version, isPoison } of entries) if (isPoison) version.mayFailWith.add("invalid_input");
      return { status: "failed", request_id: batch.requestId, errors: [{ code: 5004, message: "Invalid data" }] };
    }
    if (end === "failed") {
      dispatch.reported.add("over");
      this.#turnAway(entries);
      return random.pick([
        { status: "failed" },
        { status: "expired" },
        { success: false, status: "error", error: "upstream" },
      ]);
    }
    if (batch.answer === null) {
      batch.answer = answerBatch(entries, random, faults, end === "failed_in_part");
      dispatch.tokens = batch.answer.tokens;
      for (const { version, code } of batch.answer.unusable) {
        dispatch.unusable.add(version.key);
        version.unusable += 1;
        version.mayFailWith.add(code);
      }
    }
    // A failed batch without items has failed completely.
    dispatch.reported.add(end === "failed_in_part" && batch.answer.items === 0 ? "over" : "answered");
    return batch.answer.give();
  }
}
