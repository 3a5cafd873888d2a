import { SluiceError, type Document, type Submission } from "@sluice/client/library";
import { describe, expect, it } from "vitest";
import { checkScores } from "../src/smoke/check-scores.ts";
import { BEST, smokeDocuments, type SmokeDocument } from "../src/smoke/documents.ts";
import { explainWait } from "../src/smoke/explain-wait.ts";
import { runSmoke, type SmokeClient } from "../src/smoke/run-smoke.ts";

const [first = { id: "", query: "", contexts: [] }] = smokeDocuments;
const order = [BEST, "other-1", "other-2"];

/** A scored document, best context first. */
function scored({ id, contexts }: SmokeDocument, changes: Partial<Document> = {}): Document {
  const scores = order.map((context_id, index) => ({
    rank: index + 1,
    score: 0.9 - index / 10,
    context_id,
    context_index: contexts.findIndex((one) => one.id === context_id),
  }));
  return { id, status: "succeeded", scores, error: null, ...changes } as Document;
}

const scores = (changes: readonly object[]) =>
  scored(first).scores.map((score, index) => ({ ...score, ...changes[index] }));

describe("the scores of a document", () => {
  it("pass if every context has one, ranks follow them and the answer is first", () => {
    expect(checkScores(first, scored(first), "workers-ai")).toEqual([]);
  });

  it.each<[string, Document | undefined, string]>([
    ["is missing", undefined, "not found"],
    [
      "failed",
      scored(first, { status: "failed", error: { code: "refused", message: "m", retryable: true } }),
      "refused, m",
    ],
    ["lacks a score", scored(first, { scores: scores([]).slice(1) }), "instead of answer, other-1, other-2"],
    ["has a rank twice", scored(first, { scores: scores([{}, { rank: 1 }]) }), "ranks 1, 1, 3"],
    ["has a higher score below", scored(first, { scores: scores([{}, { score: 0.95 }]) }), "a lower rank"],
    [
      "ranks an unrelated context first",
      scored(first, { scores: scores([{ context_id: "other-1" }, { context_id: BEST }]) }),
      "unrelated",
    ],
  ])("fail if it %s", (_, found, words) => {
    expect(checkScores(first, found, "workers-ai")).toEqual([expect.stringContaining(words)]);
  });
});

it("the documents have the answer at another place than the first", () => {
  expect(smokeDocuments).toHaveLength(12);
  for (const { contexts } of smokeDocuments) {
    expect(contexts.map(({ id }) => id)).toEqual(["other-1", BEST, "other-2"]);
    expect(new Set(contexts.map(({ text }) => text)).size).toBe(3);
  }
});

const submission = (changes: Partial<Submission>) =>
  ({
    id: "sub_1",
    lane: "bulk",
    status: "completed",
    counts: { total: 6, queued: 0, processing: 0, succeeded: 6, failed: 0, canceled: 0 },
    waiting: null,
    stalled: null,
    retry: null,
    ...changes,
  }) as Submission;
const waiting = submission({
  status: "queued",
  counts: { total: 6, queued: 6, processing: 0, succeeded: 0, failed: 0, canceled: 0 },
  waiting: { reason: "queue", until: null },
});

describe("a submission that does not end", () => {
  it.each([
    ["queue", "No consumer reads the queue"],
    ["dispatch", "sluice-poller"],
    ["paused", "sluice resume"],
    ["daily_limit", "00:00 UTC"],
    ["something_new", "something_new"],
  ])("and waits for %s is explained", (reason, words) => {
    const open = submission({ waiting: { reason, until: null } as Submission["waiting"] });
    expect(explainWait(open)).toContain(words);
  });

  it("names the documents that were never recorded", () => {
    expect(explainWait(submission({ stalled: { missing: 4, since: "2026-12-01T00:00:00Z" } }))).toContain(
      "4 were sent",
    );
  });
});

interface Behavior {
  /** The poller's last run, at each call of stats. */
  readonly ticks?: readonly (string | null)[];
  /** The last state of a lane's submission. */
  readonly bulk?: Submission;
  readonly statsError?: SluiceError;
}

function fakeClient({ ticks = ["1", "2"], bulk, statsError }: Behavior): SmokeClient {
  let calls = 0;
  const client: Pick<SmokeClient, "wait" | "documents"> & Record<"push" | "stats", unknown> = {
    stats: async () => {
      if (statsError !== undefined) throw statsError;
      const at = ticks[Math.min(calls++, ticks.length - 1)] ?? null;
      return { scorer: "workers-ai", poller: at === null ? null : { last_run_at: at } };
    },
    push: async (documents: readonly SmokeDocument[], { lane }: { lane: string }) => ({
      accepted: documents.length,
      submissions: [submission({ id: lane, status: "receiving" })],
    }),
    wait: async (id, options) => {
      const last = id === "bulk" && bulk !== undefined ? bulk : submission({ id });
      options?.onProgress?.(last);
      if (last.status === "completed") return last;
      throw new SluiceError({ status: null, code: "timeout", title: "t", detail: "d" });
    },
    documents: async () => ({ data: smokeDocuments.map((one) => scored(one)), missing: [] }),
  };
  return client as SmokeClient;
}

async function smoke(behavior: Behavior): Promise<{ ok: boolean; lines: string[] }> {
  const lines: string[] = [];
  let now = 0;
  const sleep = async (ms: number) => void (now += ms);
  const ok = await runSmoke(fakeClient(behavior), 1_000, { print: (line) => lines.push(line), sleep, now: () => now });
  return { ok, lines };
}

describe("smoke", () => {
  it("passes if both queues are read, the scores are right and the poller runs", async () => {
    const { ok, lines } = await smoke({});
    expect(ok).toBe(true);
    expect(lines.filter((line) => line.startsWith("✗"))).toEqual([]);
    expect(lines.filter((line) => line.includes("the consumer reads the queue"))).toHaveLength(2);
  });

  it("fails if one queue has no consumer, and says which", async () => {
    const { ok, lines } = await smoke({ bulk: waiting });
    expect(ok).toBe(false);
    expect(lines.filter((line) => line.startsWith("✗"))).toEqual([expect.stringContaining("(lane bulk): 6 of 6")]);
    expect(lines).toContain("✓ the consumer reads the queue of the lane interactive");
  });

  it.each<[string, readonly (string | null)[], string]>([
    ["stops", ["1"], "last ran at 1"],
    ["never ran", [null], "has never run"],
  ])("fails if the poller %s", async (_, ticks, words) => {
    const { ok, lines } = await smoke({ ticks });
    expect(ok).toBe(false);
    expect(lines.at(-1)).toContain(words);
  });

  it("waits for the poller's next run", async () => {
    const { ok, lines } = await smoke({ ticks: ["1", "1", "1", "2"] });
    expect(ok).toBe(true);
    expect(lines).toContain("✓ the poller ran at 2");
  });

  it.each([
    [401, "The key is not accepted"],
    [403, "ingest and read"],
    [null, "does not answer"],
    [503, "GET /readyz"],
  ])("explains the status %s", async (status, words) => {
    const statsError = new SluiceError({ status, code: "unavailable" as never, title: "t", detail: "d." });
    const { ok, lines } = await smoke({ statsError });
    expect(ok).toBe(false);
    expect(lines).toEqual([expect.stringContaining(words)]);
  });
});
