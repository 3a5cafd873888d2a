import { nameDocument } from "@sluice/core";
import { handlerOf } from "./handlers.ts";
import type { Asking } from "./asking.ts";
import type { Invocation } from "./invocation.ts";
import { bodyOf, type Push, type PushedDocument } from "./pushes.ts";
import type { Pushing } from "./pushing.ts";
import { callOf } from "./requests.ts";
import type { World } from "./world.ts";

const postDocuments = handlerOf("pushDocuments");

/** Sends other bodies under the key of a push. None may be accepted. */
export class OtherBodies {
  readonly #world: World;
  readonly #pushing: Pushing;
  readonly #asking: Asking;

  constructor(world: World, pushing: Pushing, asking: Asking) {
    this.#world = world;
    this.#pushing = pushing;
    this.#asking = asking;
  }

  /** Sends a body with another first document under the key of an accepted push. It must be refused. */
  sendOther(push: Push): void {
    const row = this.#world.mirror.submissions.get(push.submission ?? "")?.row;
    // Until the push is fully recorded, another body may look like a continuation.
    if (!push.accepted || row?.recorded !== push.documents.length) return;
    const pieces = push.pieces.with(0, (push.pieces[0] ?? "").replace('"query":"', '"query":"other '));
    const given = push.pieces.findIndex((piece) => piece.includes('"query":"q'));
    if (given !== 0) return;
    this.#sendAnother(push, pieces, "pushes another body under a key");
  }

  /**
   * Resumes an interrupted push with one letter changed in a document that D1 has. It must be refused. Everything else
   * is unchanged, so that the push can be resumed correctly later.
   */
  resumeWithOtherPart(push: Push): void {
    const { later, mirror, sqlite } = this.#world;
    const { submission } = push;
    if (submission === null || push.accepted) return;
    const rows = sqlite.rows("SELECT document_id FROM documents WHERE submission_id = ?", submission);
    const recorded = new Set(rows.map((row) => String(row["document_id"])));
    const isThere = ({ id, index }: PushedDocument) => recorded.has(id ?? nameDocument(submission, index));
    const there = push.documents.filter(isThere).map(({ query }) => `"query":${JSON.stringify(query)}`);
    if (there.length === 0 || mirror.submissions.get(submission)?.row.closed_at !== null) return;
    const query = later.pick(there);
    const pieces = push.pieces.map((piece) => piece.replace(query, `${query.slice(0, -2)}?"`));
    this.#sendAnother(push, pieces, "resumes a push with a recorded part changed");
  }

  #sendAnother(push: Push, pieces: readonly string[], what: string): void {
    let startedAt = 0;
    const call = (by: Invocation) => {
      startedAt = by.startedAt;
      push.inProgress += 1;
      const body = bodyOf(by, pieces, { disconnectsAfter: null, pause: () => Promise.resolve() });
      return callOf({ path: push.path, headers: push.headers, body });
    };
    this.#asking.ask(
      what,
      postDocuments,
      call,
      (answer) => {
        if (answer.status < 400) this.#world.fail(`another body under the key of ${push.submission} was accepted`);
      },
      (answer) => this.#pushing.ended(push, answer, startedAt),
    );
  }
}
