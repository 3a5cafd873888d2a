import type { FailureCode } from "@sluice/core";
import * as z from "zod";
import type { KillAt } from "./director.ts";
import type { PushedDocument } from "./documents.ts";
import type { Machine } from "./machine.ts";

/** The required end of a document. */
export type End = "succeeded" | "canceled" | "deleted" | FailureCode;

export interface ExpectedEnd {
  readonly submission: string;
  readonly collection: string;
  readonly ends: readonly { readonly document: PushedDocument; readonly end: End }[];
}

/** The work in progress at the kill, and the client's reaction to it. */
export type Scene = (stage: Stage) => Promise<ExpectedEnd[]>;

/** Where a scene is played. */
export class Stage {
  readonly machine: Machine;
  /** The scene's own collection. */
  readonly collection: string;
  readonly #at: KillAt;

  constructor(machine: Machine, collection: string, at: KillAt) {
    this.machine = machine;
    this.collection = collection;
    this.#at = at;
  }

  /** Runs the action that leads to the point's step, where the runtime is killed. Returns once it runs again. */
  async kill(action: (isOver: () => boolean) => Promise<unknown>): Promise<void> {
    await this.machine.director.killAt(this.#at, action);
  }

  /** Runs the poller until the kill. */
  async killInRun(): Promise<void> {
    await this.kill(async (isOver) => {
      while (!isOver()) await this.machine.tick();
    });
  }

  /** Waits until all of a submission's documents are in batches at Workers AI. Returns the first `request_id`. */
  async untilDispatched(submission: string): Promise<string> {
    let requestId = "";
    await this.machine.waitUntil("its documents are dispatched", async () => {
      const [row] = await this.machine.sql(
        `SELECT (SELECT total FROM submissions WHERE id = ?1) = coalesce(sum(document_count), 0) AS dispatched,
           coalesce(min(request_id), '') AS requestId
         FROM jobs WHERE status = 'dispatched' AND id IN (SELECT job_id FROM parts WHERE submission_id = ?1)`,
        z.object({ dispatched: z.number(), requestId: z.string() }),
        submission,
      );
      requestId = row?.requestId ?? "";
      return row?.dispatched === 1;
    });
    await this.machine.director.untilIdle();
    return requestId;
  }

  /** Runs the poller until a submission has ended. */
  async untilCompleted(submission: string): Promise<void> {
    await this.machine.tickUntil(`${submission} ends`, async () => {
      const [row] = await this.machine.sql(
        "SELECT completed_at IS NOT NULL AS completed FROM submissions WHERE id = ?1",
        z.object({ completed: z.number() }),
        submission,
      );
      return row?.completed === 1;
    });
  }
}

export function allEnd(
  push: { readonly collection: string; readonly documents: readonly PushedDocument[] },
  submission: string,
  end: End | ((document: PushedDocument, index: number) => End) = "succeeded",
): ExpectedEnd {
  const { collection, documents } = push;
  const endOf = typeof end === "string" ? () => end : end;
  return { submission, collection, ends: documents.map((document, n) => ({ document, end: endOf(document, n) })) };
}
