import { newDispatch, newVersion, versionKey, type Content } from "../checks/state.ts";
import { isPoison, isUnanswerable, type Accounts } from "../world/accounts.ts";
import type { BatchEntry, SentBatch, SentRequest } from "../world/batch-answer.ts";
import type { Invocation } from "../world/invocation.ts";
import type { Push } from "../world/pushes.ts";
import type { World } from "../world/world.ts";

/** Accounts for calls of a design that records no dispatches. The text of each request identifies its document. */
export class TextAccounts implements Accounts {
  readonly #world: World;
  readonly #contents: ReadonlyMap<string, Content>;

  constructor(world: World, pushes: readonly Push[]) {
    this.#world = world;
    this.#contents = new Map(pushes.flatMap(({ documents }) => documents.map((one) => [one.query, one])));
  }

  open(by: Invocation, _model: string, { requests }: SentBatch) {
    const dispatch = newDispatch({
      job: "",
      number: 1,
      list: [],
      references: "",
      startedAt: this.#world.timeline.now,
      by,
    });
    return { dispatch, entries: requests.map((request) => this.#entryOf(request)) };
  }

  pay(entries: readonly BatchEntry[]): void {
    for (const { version } of entries) this.#world.onPaid(version.content);
  }

  answered(): void {}

  #entryOf(request: SentRequest): BatchEntry {
    const { query } = request;
    const content = this.#contents.get(query);
    if (content === undefined) throw new Error(`5004: nobody pushed ${query}`);
    const version = newVersion(versionKey("", query), content);
    return { request, version, isPoison: isPoison(query), isUnanswerable: isUnanswerable(query) };
  }
}
