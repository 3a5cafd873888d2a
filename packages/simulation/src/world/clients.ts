import { DEFAULT_MODEL, mintJobId, nameDocument, type JobId, type SubmissionId } from "@sluice/core";
import { cancelSubmission, deleteDocument, listFailed, pauseDispatching, resumeDispatching, retryFailed } from "@sluice/db";
import { acceptDocument } from "@sluice/producer/src/push/accepted.ts";
import type { PushOptions } from "@sluice/producer/src/push/options.ts";
import { push, type PushEnd, type PushItem } from "@sluice/producer/src/push/push.ts";
import type { Invocation } from "./invocation.ts";
import { versionKey, type Content } from "../checks/state.ts";
import type { Stack } from "./stack.ts";
import { MINUTE, type World } from "./world.ts";

/** A push as its client meant it, and what became of it as far as the client knows. */
export interface Push {
  readonly options: PushOptions;
  readonly documents: readonly PushedDocument[];
  readonly breaksOffAfter: number | null;
  /** From D1, as its row appears. */
  submission: SubmissionId | null;
  /** Whether it was answered with 202. */
  accepted: boolean;
}

interface PushedDocument extends Content {
  readonly id: string | null;
}

/** The people outside: they push, push again, cancel, delete, retry and pause, at times of the seed's choosing. */
export class Clients {
  readonly pushes: Push[] = [];
  readonly #world: World;
  readonly #stack: Stack;
  readonly #pushOf = new Map<Invocation, Push>();

  constructor(world: World, stack: Stack) {
    this.#world = world;
    this.#stack = stack;
    world.onSubmission = (id, by) => this.#learn(id as SubmissionId, by);
  }

  /** Spreads a seed's actions over the time until `end`. */
  plan(end: number): void {
    const { faults, random, timeline } = this.#world;
    const sometime = () => timeline.now + random.int(0, Math.floor((end - timeline.now) * 0.8));
    const pushes = random.int(1, random.chance(0.2) ? 6 : 3);
    for (let i = 0; i < pushes; i += 1) timeline.at(i === 0 ? timeline.now : sometime(), () => this.#push());
    for (let i = 0; i < 3; i += 1) {
      if (faults.strikes("client_cancel")) timeline.at(sometime(), () => this.#cancel());
      if (faults.strikes("client_delete")) timeline.at(sometime(), () => this.#delete());
      if (faults.strikes("client_retry")) timeline.at(sometime(), () => this.#retry());
      if (faults.strikes("client_pause")) timeline.at(sometime(), () => this.#pause(random.pick(["all", `model:${DEFAULT_MODEL}`])));
      if (faults.strikes("queue_malformed")) timeline.at(sometime(), () => this.#sendGarbage());
    }
  }

  /** The last wishes, granted without a fault: what stands still goes on, some of what failed is tried again. */
  settle(): void {
    const { mirror, random } = this.#world;
    if (random.chance(0.5)) this.#retry();
    if (random.chance(0.2)) this.#cancel();
    if (random.chance(0.2)) this.#delete();
    for (const [scope, { reason }] of mirror.pauses) if (reason === "requested") this.#resume(scope);
  }

  #push(): void {
    const pushed = this.#draw();
    this.pushes.push(pushed);
    const world = this.#world;
    world.invoke(
      "producer",
      (by) => {
        this.#pushOf.set(by, pushed);
        const { queues } = this.#stack;
        const io = {
          db: world.database(by),
          queues: {
            interactive: { sendBatch: (messages: Iterable<{ body: string }>) => queues.interactive.send(by, bodiesOf(messages)) },
            bulk: { sendBatch: (messages: Iterable<{ body: string }>) => queues.bulk.send(by, bodiesOf(messages)) },
          },
          now: by.now,
          random: (count: number) => world.random.bytes(count),
          log: (entry: { event: string }) => world.trace.add(by.name, `logs ${entry.event}`),
        };
        return push(io, pushed.options, this.#items(pushed, by));
      },
      (end: PushEnd | null) => {
        world.trace.add("client", end === null ? "hears nothing of its push" : `hears ${end.kind}`);
        if (end?.kind !== "sent") return;
        pushed.accepted = true;
        if (end.submission !== pushed.submission || end.accepted !== pushed.documents.length) world.fail("a push was answered for another");
      },
    );
  }

  async *#items(pushed: Push, by: Invocation): AsyncGenerator<PushItem> {
    const { random } = this.#world;
    for (const [place, { id, query, contexts, contextIds }] of pushed.documents.entries()) {
      if (place === pushed.breaksOffAfter) {
        this.#world.trace.add("client", "breaks off");
        yield { problem: { name: "broken-body", detail: "it broke off" } };
        return;
      }
      if (random.chance(0.1)) await by.sleep(random.spread(1, 5_000));
      const value = {
        ...(id !== null && { id }),
        query,
        contexts: contexts.map((text, index) => (contextIds === null ? text : { id: contextIds[index], text })),
      };
      const accepted = acceptDocument(value, place, pushed.options);
      if (!accepted.ok) throw new Error("the producer refuses a document of the simulation");
      yield accepted.value;
    }
  }

  /** A submission's row is in D1: from here on its documents have keys. */
  #learn(id: SubmissionId, by: Invocation): void {
    const pushed = this.#pushOf.get(by);
    if (pushed === undefined) return this.#world.fail(`${by.name} opened a submission that nobody pushed`);
    if (pushed.submission !== null) return this.#world.fail(`${by.name} opened a second submission for one push`);
    pushed.submission = id;
    for (const document of pushed.documents) {
      this.#world.contents.set(versionKey(id, document.id ?? nameDocument(id, document.place)), document);
    }
  }

  #draw(): Push {
    const { faults, random } = this.#world;
    const count = random.chance(0.15) ? random.int(15, 30) : random.int(1, 10);
    const again = faults.strikes("client_new_version");
    const tag = `${this.pushes.length}-${random.int(0, 9_999)}`;
    const names = random.shuffled(Array.from({ length: count + 4 }, (_, index) => `doc-${again ? index : `${tag}-${index}`}`));
    const documents = Array.from({ length: count }, (_, place): PushedDocument => {
      const isLong = random.chance(0.06);
      if (isLong) faults.count("part_staged");
      const contexts = Array.from({ length: random.int(1, 4) }, (_, index) => `text ${index} of ${tag} ${place}${isLong ? " long".repeat(400) : ""}`);
      return {
        id: random.chance(0.8) ? (names[place] ?? null) : null,
        place,
        query: `${this.#nature()} ${tag} ${place}`,
        contexts,
        contextIds: random.chance(0.4) ? contexts.map((_, index) => `c${index}-${place}`) : null,
      };
    });
    return {
      options: {
        collection: random.pick(["default", "default", "other"]),
        model: DEFAULT_MODEL,
        lane: random.pick(["interactive", "bulk"]),
        label: null,
        truncateInputs: true,
      },
      documents,
      breaksOffAfter: faults.strikes("client_break_off") ? random.int(1, count) : null,
      submission: null,
      accepted: false,
    };
  }

  /** What the service will make of a document: refuse it, never answer for it, or score it. */
  #nature(): string {
    const { faults } = this.#world;
    if (faults.strikes("poison")) return "poison";
    return faults.strikes("document_never_answered") ? "unanswerable" : "query";
  }

  #ask(what: string, run: (by: Invocation) => Promise<unknown>): void {
    this.#world.trace.add("client", what);
    this.#world.invoke("producer", run, () => undefined);
  }

  #cancel(): void {
    const { mirror, random } = this.#world;
    if (mirror.submissions.size === 0) return;
    const id = random.pick([...mirror.submissions.keys()]) as SubmissionId;
    this.#ask("cancels a submission", (by) => cancelSubmission(this.#world.database(by), id, by.now()));
  }

  #delete(): void {
    const { mirror, random } = this.#world;
    const there = [...mirror.versions.values()].filter((version) => version.recorded && !version.deleted);
    if (there.length === 0) return;
    const { collection, document: id } = random.pick(there);
    this.#ask("deletes a document", (by) => deleteDocument(this.#world.database(by), { collection, id }, by.now()));
  }

  #retry(): void {
    const { mirror, random } = this.#world;
    const failed = [...mirror.submissions.values()].filter(({ row }) => row.failed > 0);
    if (failed.length === 0) return;
    const { row } = random.pick(failed);
    const pushed = this.pushes.find(({ submission }) => submission === row.id);
    if (pushed === undefined) return;
    const submission = { id: row.id as SubmissionId, collection: row.collection };
    this.#ask("retries what failed", async (by) => {
      const db = this.#world.database(by);
      const documents = await listFailed(db, submission, null, "", 10);
      const byJob = Map.groupBy(documents, ({ jobId }) => jobId);
      for (const [parent, list] of byJob) {
        const id: JobId = mintJobId(by.now(), random.bytes(10));
        const { model, lane } = pushed.options;
        await retryFailed(db, { id, parent, model, lane }, submission, list.map(({ document }) => document), by.now());
      }
    });
  }

  #pause(scope: string): void {
    const { random, timeline } = this.#world;
    this.#ask(`pauses ${scope}`, (by) =>
      pauseDispatching(this.#world.database(by), { scope, reason: "requested", message: null, since: by.now(), until: null }),
    );
    timeline.after(random.int(1, 20) * MINUTE, () => this.#resume(scope));
  }

  #resume(scope: string): void {
    this.#ask(`resumes ${scope}`, (by) => resumeDispatching(this.#world.database(by), scope, by.now()));
  }

  #sendGarbage(): void {
    const { random } = this.#world;
    const queue = this.#stack.queues[random.pick(["interactive", "bulk"])];
    queue.take(random.pick<unknown>(["not JSON", { an: "object" }, '{"v":2,"kind":"part"}', '{"v":1,"kind":"staged","submission":"x"}']));
  }
}

function bodiesOf(messages: Iterable<{ body: string }>): string[] {
  return Array.from(messages, ({ body }) => body);
}
