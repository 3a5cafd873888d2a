import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SubmissionId } from "@sluice/core";
import { endQueue } from "@sluice/pipeline/submission/sql/end-queue.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Sluice, type Submission } from "../../client/src/index.ts";
import type { Adapt } from "../src/configuration.ts";
import { describeStop } from "../src/demo/stopped.ts";
import { startStack, type Stack } from "../src/runtime.ts";
import { withStateDatabase } from "../src/state-database.ts";
import { startBundled } from "./bundled-runtime.ts";
import { migrateState } from "./migrated-state.ts";

const KEY = "lost-queue-key-0123456789";
const LIMIT_MS = 300_000;
const DOCUMENT = { query: "capital of France", contexts: ["Paris", "Bananas are yellow"] };

/** The consumer's Queues wait for a hundred messages, or for a minute. */
const slow: Adapt = (worker, configuration) =>
  worker !== "consumer"
    ? configuration
    : {
        ...configuration,
        queues: {
          ...configuration.queues,
          consumers: (configuration.queues?.consumers ?? []).map((consumer) => ({
            ...consumer,
            max_batch_size: 100,
            max_batch_timeout: 60,
          })),
        },
      };

describe("a stack stopped with messages in its Queue", () => {
  let state: string;
  let stack: Stack | null = null;
  beforeEach(() => {
    state = mkdtempSync(join(tmpdir(), "sluice-lost-"));
    migrateState(state);
  });
  afterEach(async () => {
    await stack?.stop();
    rmSync(state, { recursive: true, force: true });
  }, LIMIT_MS);

  async function start(adapt?: Adapt): Promise<Sluice> {
    const settings = {
      port: 0,
      state,
      tickSeconds: 1,
      localAi: "lexical",
      events: false,
      retention: {},
      apiKey: null,
      maxDatabaseBytes: null,
    } as const;
    const started = await startStack(settings, KEY, new AbortController().signal, adapt, startBundled);
    if (!started.ok) throw new Error(started.error);
    stack = started.value;
    return new Sluice({ url: stack.url, key: KEY });
  }

  async function pushTo(url: string, ids: readonly string[], idempotencyKey: string): Promise<SubmissionId> {
    const client = new Sluice({ url, key: KEY });
    const documents = ids.map((id) => ({ id, ...DOCUMENT }));
    const { submissions } = await client.push(documents, { idempotencyKey, lane: "bulk" });
    return submissions[0]?.id as SubmissionId;
  }

  it(
    "reports them, fails them once at the next start, and scores a repeated push",
    async () => {
      await start(slow);
      const url = () => stack?.url ?? "";
      const lost = await pushTo(url(), ["a", "b"], "one");
      const canceled = await pushTo(url(), ["c"], "two");
      const before = new Sluice({ url: url(), key: KEY });
      expect(await before.cancel(canceled)).toMatchObject({ status: "canceling", counts: { queued: 1 } });
      await stack?.stop();
      expect(await describeStop(state)).toBe(
        `Stopped. The data is kept in ${state}.\nLost with the local Queue, which is in memory: 3 documents (2 of ${lost}, 1 of ${canceled}). ` +
          "None of them is recorded. Push the same file again to score them.",
      );

      const client = await start();
      expect(stack?.leftovers.lost).toEqual([
        { submission: lost, documentCount: 2, canceled: false },
        { submission: canceled, documentCount: 1, canceled: true },
      ]);
      const ended: Partial<Submission> = { status: "completed", stalled: null, failures: { message_lost: 2 } };
      expect(await client.submission(lost)).toMatchObject(ended);
      expect(await client.submission(canceled)).toMatchObject({
        status: "canceled",
        counts: { total: 1, queued: 0, failed: 1, canceled: 0 },
        failures: { message_lost: 1 },
      });
      expect(await client.retry(lost)).toMatchObject({ queued: 0, lost: 2 });

      expect(await pushTo(url(), ["a", "b"], "one")).toBe(lost);
      expect(await client.wait(lost)).toMatchObject({ status: "completed", counts: { total: 2, succeeded: 2 } });
      await stack?.stop();

      expect(await describeStop(state)).toBe(`Stopped. The data is kept in ${state}.`);
      expect(await withStateDatabase(state, (db) => endQueue(db, Date.now()))).toEqual([]);
    },
    LIMIT_MS,
  );
});
