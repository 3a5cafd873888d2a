import { createServer } from "node:http";
import { once } from "node:events";
import type { SubmissionId } from "@sluice/core";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Submission } from "../src/demo/api.ts";
import { follow } from "../src/demo/follow.ts";
import { describeLeftovers, finishLeftovers, listed } from "../src/demo/leftovers.ts";
import { describeWait } from "../src/demo/waits.ts";

const ids = ["0", "1", "2"].map((end) => `sub_01a22896-7c5c-71cc-b584-4f90670e70a${end}` as SubmissionId);
const [first = "" as SubmissionId, second = "" as SubmissionId, third = "" as SubmissionId] = ids;

function submission(id: SubmissionId, counts: Partial<Submission["counts"]>): Submission {
  return {
    id,
    status: "processing",
    counts: { total: 30, queued: 0, processing: 0, succeeded: 0, failed: 0, canceled: 0, ...counts },
    failures: {},
    stalled: null,
    usage: { tokens: 0, jobs: 0 },
  };
}

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
  vi.restoreAllMocks();
});

/** A stack that answers every read of a submission with one that does not move, and every query with no rows. */
async function standingStill() {
  const server = createServer((request, response) => {
    const rows = { result: [{ results: { columns: [], rows: [] } }] };
    const body = request.method === "POST" ? (request.resume(), rows) : submission(first, { processing: 30 });
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}`, key: "key", close: () => server.close() };
}

describe("what an earlier run left open", () => {
  it("is told apart: what D1 has, what the Queue lost, what its push can still deliver", () => {
    const leftovers = {
      unfinished: [
        { submission: first, recorded: 0, staged: 30, queued: 0 },
        { submission: second, recorded: 15, staged: 4, queued: 7 },
      ],
      lost: [
        { submission: second, documents: 6, canceled: false },
        { submission: third, documents: 2, canceled: true },
      ],
    };
    const lines = describeLeftovers(leftovers);
    expect(lines).toEqual([
      expect.stringMatching(/^left over +49 documents of an earlier run, in D1 \(34 of them as staged parts\)/),
      expect.stringMatching(
        new RegExp(
          `^lost +6 documents of ${second}: .*failed as message_lost\\. Push the same file again to score them$`,
        ),
      ),
      expect.stringMatching(new RegExp(`^lost +2 documents of ${third}, canceled before: .*failed as message_lost$`)),
      expect.stringMatching(
        new RegExp(`^incomplete +7 documents of ${second}: .*The same push under its key resumes it, for an hour$`),
      ),
    ]);
  });

  it("names the first submissions of many, with their documents", () => {
    const lost = ["a", "b", "c", "d", "e"].map((id) => ({ submission: `sub_${id}` as SubmissionId, documents: 1_000 }));
    expect(listed(lost)).toBe(
      "5,000 documents (1,000 of sub_a, 1,000 of sub_b, 1,000 of sub_c, and of 2 more submissions)",
    );
  });

  it("is not mentioned where there is nothing", () => {
    expect(describeLeftovers({ unfinished: [], lost: [] })).toEqual([]);
  });

  it("is not waited for without an end where nothing of it moves", async () => {
    vi.spyOn(console, "log").mockReturnValue(undefined);
    const stack = await standingStill();
    const shown: (string | undefined)[] = [];
    let time = 0;
    const shortcomings = await finishLeftovers(
      { unfinished: [{ submission: first, recorded: 30, staged: 0, queued: 0 }], lost: [] },
      {
        api: () => stack,
        signal: new AbortController().signal,
        startProgress: () => ({
          show: (_, wait) => shown.push(wait),
          clear: () => undefined,
          [Symbol.dispose]: () => undefined,
        }),
        now: () => (time += 200_000),
      },
    );
    expect(shown.length).toBeGreaterThan(0);
    expect(shortcomings).toEqual([expect.stringMatching(/is not finished: nothing of it moved for 180\.0 s/)]);
  });
});

describe("a wait", () => {
  it("is explained with the time that is left, where it is one that a person notices", () => {
    expect(describeWait([500, 1_000], 0, 0)).toBe("");
    expect(describeWait([500, 14_100, 20_000], 0, 0)).toBe("2 jobs due in 15 s");
    expect(describeWait([14_000], 3, 0)).toBe("1 job due in 14 s; 3 staged parts to record");
  });
});

describe("following a submission", () => {
  it("asks nothing of a stack that is being stopped", async () => {
    const stack = { url: "http://127.0.0.1:1", key: "" };
    expect(
      await follow(
        () => stack,
        first,
        AbortSignal.abort(),
        () => true,
      ),
    ).toBeNull();
  });

  it("takes a stack that stops answering as its end is wanted for no error", async () => {
    const stack = await standingStill();
    const ending = new AbortController();
    const followed = follow(
      () => stack,
      first,
      ending.signal,
      async () => {
        ending.abort();
        throw new TypeError("fetch failed");
      },
    );
    expect(await followed).toBeNull();
  });

  it("fails where the stack does so by itself", async () => {
    const stack = { url: "http://127.0.0.1:1", key: "" };
    await expect(
      follow(
        () => stack,
        first,
        new AbortController().signal,
        () => true,
      ),
    ).rejects.toThrow("fetch failed");
  });
});
