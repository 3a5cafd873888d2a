import { nameDocument } from "@sluice/core";
import type { JobMembers } from "@sluice/pipeline/job/members.ts";
import type { DocumentShape } from "@sluice/producer/src/shapes/document.ts";
import type { SubmissionShape } from "@sluice/producer/src/shapes/submission.ts";
import type { Shown } from "../baselines/baseline.ts";
import { versionKey, type VersionKey } from "../checks/state.ts";
import { becomeQuiet } from "../run/become-quiet.ts";
import { cronOf, type Cron } from "../world/cron.ts";
import type { Push, PushedDocument } from "../world/pushes.ts";
import { pushingIntoSluice } from "../world/pushing-into-sluice.ts";
import type { Pushing } from "../world/pushing.ts";
import { Reader } from "../world/reader.ts";
import { Stack } from "../world/stack.ts";
import type { World } from "../world/world.ts";
import type { Design } from "./design.ts";
import { handlerOf } from "../world/handlers.ts";

const getDocument = handlerOf("getDocument");
const getSubmission = handlerOf("getSubmission");
const listResults = handlerOf("listResults");

/** Sluice, read through its API. */
export class SluiceDesign implements Design {
  readonly pushing: Pushing;
  readonly cron: Cron;
  readonly #world: World;
  readonly #stack: Stack;
  readonly #reader: Reader;
  readonly #results = new Map<string, ReadonlyMap<string, DocumentShape>>();
  #dispatches: ReadonlyMap<VersionKey, number> | null = null;

  constructor(world: World) {
    this.#world = world;
    this.#stack = new Stack(world);
    this.#reader = new Reader(world);
    this.pushing = pushingIntoSluice(world, this.#stack);
    this.cron = cronOf(world, this.#stack);
  }

  becomeQuiet(stop: () => boolean): Promise<void> {
    return becomeQuiet(this.#world, this.#stack, stop);
  }

  async read(push: Push, document: PushedDocument): Promise<Shown> {
    const { submission, id } = named(push, document);
    const there = (await this.#resultsOf(submission)).get(id);
    if (there === undefined) return this.#missing(push, submission);
    if (there.status === "failed") return { state: "failed" };
    if (there.status !== "succeeded") return { state: "pending" };
    const path = `/v1/collections/${push.collection}/documents/${encodeURIComponent(id)}`;
    const { body } = await this.#reader.get(getDocument, path, { collection: push.collection, id });
    const { scores } = body as unknown as DocumentShape;
    return { state: "succeeded", scores: scores.map(({ context_index: index, score }) => [index, score]) };
  }

  recorded(push: Push, document: PushedDocument): number {
    const { submission, id } = named(push, document);
    this.#dispatches ??= this.#countDispatches();
    return this.#dispatches.get(versionKey(submission, id)) ?? 0;
  }

  /**
   * Reads the state of a missing document from its submission, which counts documents that the Queue lost as failed.
   */
  async #missing(push: Push, submission: string): Promise<Shown> {
    const { body } = await this.#reader.get(getSubmission, `/v1/submissions/${submission}`, { id: submission });
    const { failures, status } = body as unknown as SubmissionShape;
    const missing = push.documents.length - (await this.#resultsOf(submission)).size;
    return { state: status === "completed" && failures["message_lost"] === missing ? "failed" : "nothing" };
  }

  async #resultsOf(id: string): Promise<ReadonlyMap<string, DocumentShape>> {
    let results = this.#results.get(id);
    if (results === undefined) {
      const rows = await this.#reader.list<DocumentShape>(listResults, `/v1/submissions/${id}/results`, { id });
      results = new Map(rows?.map((document) => [document.id, document]));
      this.#results.set(id, results);
    }
    return results;
  }

  #countDispatches(): ReadonlyMap<VersionKey, number> {
    const counted = new Map<VersionKey, number>();
    const jobs = this.#world.sqlite.rows(
      "SELECT members, 1 + unconfirmed_dispatches + repeated_dispatches AS dispatches FROM jobs WHERE dispatch_number > 0",
    );
    for (const { members, dispatches } of jobs) {
      for (const [submission, documents] of JSON.parse(String(members)) as JobMembers) {
        for (const document of documents) {
          const key = versionKey(submission, document);
          counted.set(key, (counted.get(key) ?? 0) + Number(dispatches));
        }
      }
    }
    return counted;
  }
}

function named(push: Push, document: PushedDocument): { readonly submission: string; readonly id: string } {
  if (push.submission === null) throw new Error("an accepted push has no submission");
  return { submission: push.submission, id: document.id ?? nameDocument(push.submission, document.index) };
}
