import { Sluice, type Submission, type WaitingReason } from "@sluice/client/library";
import type { Progress } from "@sluice/client/progress";
import type { SubmissionId } from "@sluice/core";
import { describe, expect, it } from "vitest";
import { submissionOf } from "../../client/test/shapes.ts";
import { describeWait, follow } from "../src/demo/follow.ts";
import { describeLeftovers, finishLeftovers, listed } from "../src/demo/leftovers.ts";

const ids = ["0", "1", "2"].map((end) => `sub_01a22896-7c5c-71cc-b584-4f90670e70a${end}` as SubmissionId);
const [first = "" as SubmissionId, second = "" as SubmissionId, third = "" as SubmissionId] = ids;

function submission(id: SubmissionId, counts: Partial<Submission["counts"]>): Submission {
  const open = submissionOf(id, [], new URLSearchParams(), "processing");
  return { ...open, counts: { ...open.counts, total: 30, ...counts } };
}

/** A client of a stack that always returns this submission. */
function standingStill(one: Submission): Sluice {
  return new Sluice({ url: "http://stack.test", key: "key", fetch: async () => Response.json(one) });
}

/** A fake progress display that records the arguments of each call, and the lines. */
function recorder() {
  const shown: { readonly hold: string | null; readonly wait: string | undefined }[] = [];
  const lines: string[] = [];
  const progress: Progress = {
    sending: () => {},
    scoring: (_, hold, wait) => shown.push({ hold, wait }),
    pausing: () => {},
    print: (line) => lines.push(line),
    clear: () => {},
    [Symbol.dispose]: () => {},
  };
  return { shown, lines, progress };
}

describe("documents of an earlier run", () => {
  it("are described as in D1, lost with the Queue, or not sent yet", () => {
    const leftovers = {
      unfinished: [
        { submission: first, recorded: 0, staged: 30, queued: 0 },
        { submission: second, recorded: 15, staged: 4, queued: 7 },
      ],
      lost: [
        { submission: second, documentCount: 6, canceled: false },
        { submission: third, documentCount: 2, canceled: true },
      ],
    };
    const lines = describeLeftovers(leftovers);
    expect(lines).toEqual([
      expect.stringMatching(/^left over +49 documents of an earlier run in D1 \(34 of them as staged parts\)/),
      expect.stringMatching(
        new RegExp(
          `^lost +6 documents of ${second}: .*failed as message_lost\\. Push the same file again to score them\\.$`,
        ),
      ),
      expect.stringMatching(new RegExp(`^lost +2 documents of ${third}, already canceled: .*failed as message_lost$`)),
      expect.stringMatching(
        new RegExp(
          `^incomplete +7 documents of ${second}: .*Push the same file with the same key within an hour to resume it$`,
        ),
      ),
    ]);
  });

  it("are listed for the first of many submissions", () => {
    const lost = ["a", "b", "c", "d", "e"].map((id) => ({
      submission: `sub_${id}` as SubmissionId,
      documentCount: 1_000,
    }));
    expect(listed(lost)).toBe(
      "5,000 documents (1,000 of sub_a, 1,000 of sub_b, 1,000 of sub_c, and of 2 more submissions)",
    );
  });

  it("are not mentioned if there are none", () => {
    expect(describeLeftovers({ unfinished: [], lost: [] })).toEqual([]);
  });

  it("are given up after three minutes without progress", async () => {
    const { shown, lines, progress } = recorder();
    let time = 0;
    const shortcomings = await finishLeftovers(
      { unfinished: [{ submission: first, recorded: 30, staged: 0, queued: 0 }], lost: [] },
      {
        client: standingStill(submission(first, { processing: 30 })),
        signal: new AbortController().signal,
        progress,
        now: () => (time += 200_000),
      },
    );
    expect(shown.length).toBeGreaterThan(0);
    expect(lines).toEqual([expect.stringMatching(/^left over +sub_\S+: 0 succeeded, 0 failed, 0 canceled$/)]);
    expect(shortcomings).toEqual([expect.stringMatching(/has not ended: no progress for 3 min\./)]);
  });

  it("are waited for while parts are staged, but not for unsent ones", async () => {
    const { progress } = recorder();
    const counts = [
      { queued: 11, processing: 0 },
      { queued: 7, processing: 4 },
      { queued: 7, processing: 0, succeeded: 23 },
    ];
    let reads = 0;
    const fetch = async () => Response.json(submission(first, counts[Math.min(reads++, 2)] ?? {}));
    const shortcomings = await finishLeftovers(
      { unfinished: [{ submission: first, recorded: 19, staged: 4, queued: 7 }], lost: [] },
      {
        client: new Sluice({ url: "http://stack.test", key: "key", fetch }, { sleep: async () => {} }),
        signal: new AbortController().signal,
        progress,
        now: () => 0,
      },
    );
    expect([reads, shortcomings]).toEqual([3, []]);
  });
});

describe("a wait", () => {
  const wait = (reason: WaitingReason, until: number | null) =>
    describeWait({ waiting: { reason, until: until === null ? null : new Date(until).toISOString() } }, 0);

  it("is shown with the remaining time if it is long", () => {
    expect([wait("answer", 1_000), wait("queue", null), describeWait({ waiting: null }, 0)]).toEqual(["", "", ""]);
    expect(wait("answer", 14_100)).toBe("waits for its answer, in 14 s");
    expect(wait("dispatch", 14_000)).toBe("waits for its turn, in 14 s");
  });
});

describe("following a submission", () => {
  it("shows what blocks it", async () => {
    const { shown, progress } = recorder();
    const paused = { ...submission(first, { processing: 30 }), waiting: { reason: "paused" as const, until: null } };
    const signal = new AbortController().signal;
    await follow(standingStill(paused), first, { progress, signal, until: () => true });
    expect(shown).toEqual([{ hold: "everything is paused: sluice resume", wait: "" }]);
  });

  it("ends with the signal", async () => {
    const { progress } = recorder();
    const stop = new AbortController();
    const until = () => {
      stop.abort(new Error("stopped"));
      return false;
    };
    const followed = follow(standingStill(submission(first, {})), first, { progress, signal: stop.signal, until });
    await expect(followed).rejects.toThrow("stopped");
  });
});
