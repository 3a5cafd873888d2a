import type { Submission } from "@sluice/client/types";
import { expect } from "vitest";
import type { Machine } from "../kill-matrix/machine.ts";
import { Push } from "../kill-matrix/push.ts";
import type { KillAt } from "../kill-matrix/director.ts";
import { checkScores, readProgress, textsOf, type Progress, type Versions } from "./soak-checks.ts";
import { seededNumbers, soakDocument, type SoakDocument } from "./soak-documents.ts";

const COLLECTIONS = ["soak-a", "soak-b", "soak-c"] as const;
const IDS = 30;
const DOCUMENTS = 6;
/** Pushes at once, each to its own collection. */
const AT_ONCE = 2;
/** One document in this many fails. */
const FAILING = 15;
/** Pushes between two runs of the poller, if none is refused: few leave time for retention by age, many fill the database. */
const PUSHES_PER_RUN = [4, 40] as const;

interface SoakPush {
  readonly push: Push;
  readonly documents: readonly SoakDocument[];
  refused: boolean;
}

/**
 * A client that pushes more than fits, while retention runs, and knows what must be left. It waits as long as the API
 * asks.
 */
export class RoomSoak {
  readonly #machine: Machine;
  readonly #random: (limit: number) => number;
  readonly #documents = new Map<string, Versions>();
  readonly #deleted: SoakDocument[] = [];
  /** Accepted submissions that have not ended, and all that have. */
  readonly #open = new Map<string, readonly SoakDocument[]>();
  readonly #ended = new Map<string, Progress>();
  #pending: SoakPush[] = [];
  /** The document whose deletion has not been checked. */
  #deleting: string | null = null;
  #made = 0;
  /** UTF-16 units of texts that were accepted. All are ASCII. */
  acceptedBytes = 0;
  refused = 0;
  acceptedAfterRefusal = 0;
  /** Requests without an answer. */
  unanswered = 0;
  deletions = 0;
  lost = 0;

  constructor(machine: Machine, seed: number) {
    this.#machine = machine;
    this.#random = seededNumbers(seed);
  }

  /** Pushes until one is refused, then runs the poller, checks what has ended, and deletes a document. */
  async round(): Promise<void> {
    // Before new versions of the document are pushed.
    if (this.#deleting !== null) await this.#delete();
    const pushes = PUSHES_PER_RUN[this.#random(PUSHES_PER_RUN.length)] ?? 0;
    let wait = 0;
    for (let pushed = 0; pushed < pushes && wait === 0; pushed += AT_ONCE) wait = await this.#send();
    if (wait > 0) await this.#machine.director.passTime(wait * 1_000);
    await this.#machine.tick();
    await this.#follow();
    await this.#delete();
  }

  /** Does rounds until the runtime is killed at a step, and restarted. */
  async killIn(at: KillAt): Promise<void> {
    await this.#machine.director.killAt(at, async (isOver) => {
      while (!isOver()) await this.round();
    });
  }

  /** Makes some pushes at once, or repeats those that were not accepted. Returns the seconds to wait. */
  async #send(): Promise<number> {
    if (this.#pending.length === 0) this.#pending = this.#makePushes();
    const sent = this.#pending;
    const answers = await Promise.all(sent.map(({ push }) => push.send().catch(() => null)));
    let wait = 0;
    for (const [index, one] of sent.entries()) {
      const answer = answers[index] ?? null;
      if (answer === null) this.unanswered += 1;
      else if (answer.status === 202) this.#accept((answer.body as { submission: Submission }).submission.id, one);
      else {
        const { type } = answer.body as { type: string };
        // An interrupted push is in progress for a while.
        expect([answer.status, type]).toEqual(answer.status === 409 ? [409, type] : [503, "/problems/database-full"]);
        if (answer.status === 409) expect(this.unanswered).toBeGreaterThan(0);
        else {
          this.refused += 1;
          one.refused = true;
        }
        wait = Math.max(wait, Number(answer.headers.get("retry-after")));
        expect(wait).toBeGreaterThan(0);
      }
    }
    this.#pending = sent.filter((_, index) => answers[index]?.status !== 202);
    return wait;
  }

  #makePushes(): SoakPush[] {
    const first = this.#random(COLLECTIONS.length);
    return Array.from({ length: AT_ONCE }, (_, index) => {
      const collection = COLLECTIONS[(first + index) % COLLECTIONS.length] ?? "";
      const from = this.#random(IDS);
      const documents = Array.from({ length: DOCUMENTS }, (_unused, n) => {
        const fails = this.#random(FAILING) === 0;
        return this.#make(collection, `d${(from + n) % IDS}`, fails);
      });
      return this.#pushOf(collection, documents);
    });
  }

  #make(collection: string, id: string, fails: boolean): SoakDocument {
    this.#made += 1;
    return soakDocument(collection, id, this.#made, fails);
  }

  #pushOf(collection: string, documents: readonly SoakDocument[]): SoakPush {
    const plain = documents.map(({ id, query, contexts }) => ({ id, query, contexts }));
    return { push: new Push(this.#machine, collection, plain), documents, refused: false };
  }

  #accept(submission: string, { documents, refused }: SoakPush): void {
    if (refused) this.acceptedAfterRefusal += 1;
    this.#open.set(submission, documents);
    for (const document of documents) {
      const key = `${document.collection}/${document.id}`;
      const versions = this.#documents.get(key) ?? { byId: new Map<string, SoakDocument>(), succeeded: null };
      versions.byId.set(submission, document);
      this.#documents.set(key, versions);
      for (const { text } of document.contexts) this.acceptedBytes += text.length;
    }
  }

  /** Checks the submissions that have ended since. */
  async #follow(): Promise<void> {
    const progress = await readProgress(this.#machine, [...this.#open.keys()]);
    for (const one of progress) if (one.status === "completed") this.#end(one);
  }

  #end(progress: Progress): void {
    const { submission_id: submission, lost } = progress;
    const documents = this.#open.get(submission) ?? [];
    const failing = documents.filter(({ fails }) => fails).length;
    // Lost documents may be those that would have failed.
    expect(progress).toMatchObject({ total: DOCUMENTS, queued: 0, processing: 0, canceled: 0 });
    if (lost === 0) expect(progress).toMatchObject({ succeeded: DOCUMENTS - failing, failed: failing });
    else this.lost += lost;
    this.#open.delete(submission);
    this.#ended.set(submission, progress);
    for (const { collection, id, fails } of documents) {
      const versions = this.#documents.get(`${collection}/${id}`);
      if (versions === undefined || fails || lost > 0) continue;
      if (versions.succeeded === null || versions.succeeded < submission) versions.succeeded = submission;
    }
  }

  /** Deletes a document that has scores and of which no version is in progress. */
  async #delete(): Promise<void> {
    const isRepeated = this.#deleting !== null;
    this.#deleting ??= this.#idleDocument();
    if (this.#deleting === null) return;
    const versions = this.#documents.get(this.#deleting)?.byId ?? new Map<string, SoakDocument>();
    const [collection = "", id = ""] = this.#deleting.split("/");
    const path = `/v1/collections/${collection}/documents/${id}`;
    const { status } = await this.#machine.call(path, { method: "DELETE" });
    // A kill may have hidden the first answer.
    expect(isRepeated ? [200, 404] : [200]).toContain(status);
    expect((await this.#machine.call(path)).status).toBe(404);
    expect(await this.textsOf([...versions.values()])).toEqual([]);
    this.#documents.delete(this.#deleting);
    this.#deleting = null;
    this.deletions += 1;
    this.#deleted.push(...versions.values());
  }

  #idleDocument(): string | null {
    const busy = new Set([...this.#open.values()].flat().map(({ collection, id }) => `${collection}/${id}`));
    for (const { documents } of this.#pending)
      for (const { collection, id } of documents) busy.add(`${collection}/${id}`);
    const idle = [...this.#documents].flatMap(([key, { succeeded }]) =>
      succeeded !== null && !busy.has(key) ? [key] : [],
    );
    return idle[this.#random(idle.length)] ?? null;
  }

  /** Runs the poller until everything that was accepted has ended. */
  async finish(): Promise<void> {
    if (this.#deleting !== null) await this.#delete();
    while (this.#pending.length > 0) {
      await this.#send();
      await this.#machine.tick();
    }
    await this.#machine.tickUntil("every accepted document ends", async () => {
      await this.#follow();
      return this.#open.size === 0;
    });
  }

  /** Pushes documents of which one fails, and returns them once they have ended. The last is the one that fails. */
  async pushFailing(): Promise<readonly SoakDocument[]> {
    const documents = Array.from({ length: DOCUMENTS }, (_, n) =>
      this.#make(COLLECTIONS[0], `late-${n}`, n === DOCUMENTS - 1),
    );
    this.#pending = [this.#pushOf(COLLECTIONS[0], documents)];
    await this.finish();
    return documents;
  }

  /** Checks the sums of all submissions that are left, the scores of the newest versions, and that nothing deleted is. */
  async check(): Promise<void> {
    for (const row of await readProgress(this.#machine, [...this.#ended.keys()]))
      expect(row).toEqual(this.#ended.get(row.submission_id));
    for (const collection of COLLECTIONS) {
      const versions = [...this.#documents].filter(([key]) => key.startsWith(`${collection}/`));
      await checkScores(this.#machine, collection, versions, this.lost > 0);
    }
    expect(await this.textsOf(this.#deleted)).toEqual([]);
  }

  /** The names of the documents of which there are contexts; with `queriesToo`, or queries. */
  async textsOf(documents: readonly SoakDocument[], queriesToo = true): Promise<string[]> {
    return textsOf(this.#machine, documents, queriesToo);
  }
}
