import { randomUUID } from "node:crypto";
import type { PushAccepted } from "@sluice/client/types";
import type { PushedDocument } from "./documents.ts";
import type { Machine } from "./machine.ts";

/**
 * Total seconds that a client is asked to wait for one push: an interrupted one can be resumed after 60 s of
 * inactivity.
 */
const MAX_SECONDS = 60;

/** A push with an `Idempotency-Key`, as a client makes and repeats it. */
export class Push {
  readonly documents: readonly PushedDocument[];
  readonly collection: string;
  readonly #machine: Machine;
  readonly #format: "json" | "ndjson";
  readonly #key = randomUUID();

  constructor(
    machine: Machine,
    collection: string,
    documents: readonly PushedDocument[],
    format: "json" | "ndjson" = "json",
  ) {
    this.#machine = machine;
    this.collection = collection;
    this.documents = documents;
    this.#format = format;
  }

  /** One request. */
  async send(): ReturnType<Machine["call"]> {
    const json = this.#format === "json";
    return this.#machine.call(`/v1/documents?collection=${this.collection}`, {
      method: "POST",
      body: json
        ? JSON.stringify({ documents: this.documents })
        : this.documents.map((document) => JSON.stringify(document)).join("\n"),
      headers: {
        "content-type": json ? "application/json" : "application/x-ndjson",
        "idempotency-key": this.#key,
      },
    });
  }

  /**
   * Sends until it is accepted, and waits as long as the API asks. Returns the submission and the headers of the
   * answer.
   */
  async untilAccepted(): Promise<{ readonly submission: string; readonly headers: Headers }> {
    for (let waited = 0; ;) {
      const { status, headers, body } = await this.send();
      if (status === 202) return { submission: (body as PushAccepted).submission.id, headers };
      const wait = Number(headers.get("retry-after"));
      if (status !== 409 || !(wait > 0) || waited + wait > MAX_SECONDS) {
        throw new Error(`the push was answered with ${status} after ${waited} s: ${JSON.stringify(body)}`);
      }
      waited += wait;
      await this.#machine.director.passTime(wait * 1_000);
    }
  }
}
