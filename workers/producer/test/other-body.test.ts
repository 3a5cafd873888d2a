import { describe, expect, it } from "vitest";
import { testApi } from "./api.ts";
import { lines, problem, queuesUntil, sendLines } from "./keyed-push.ts";
import { rows } from "./stored.ts";

describe("an interrupted NDJSON push whose parts are still in the Queue", () => {
  it.each([
    ["all of it", lines(40, "y")],
    // From the second part on.
    ["its later documents", [...lines(8).split("\n"), ...lines(40, "y").split("\n").slice(8)].join("\n")],
  ])("is not resumed with another body, of which nothing is sent: %s", async (_, other) => {
    const first = queuesUntil(2);
    const broken = await sendLines(await testApi({ queues: first.queues }), "k", lines(40));
    expect(broken.status).toBe(503);
    expect(first.taken.flat().length).toBeGreaterThanOrEqual(3);
    expect(await rows("SELECT recorded FROM submissions")).toEqual([{ recorded: 0 }]);
    const second = queuesUntil(Infinity);
    const answer = await sendLines(await testApi({ queues: second.queues }), "k", other);
    expect([answer.status, (await problem(answer)).type]).toEqual([422, "/problems/idempotency-key-reused"]);
    const known = new Set(first.taken.flat());
    expect(second.taken.flat().filter((body) => !known.has(body))).toEqual([]);
  });

  it("resumes with the same body, and deletes the hashes of sent parts when it is closed", async () => {
    await sendLines(await testApi({ queues: queuesUntil(2).queues }), "k", lines(40));
    expect(await rows("SELECT count(*) AS n FROM sent_parts")).not.toEqual([{ n: 0 }]);
    const again = queuesUntil(Infinity);
    const answer = await sendLines(await testApi({ queues: again.queues }), "k", lines(40));
    expect([answer.status, await answer.json()]).toMatchObject([202, { accepted: 40 }]);
    expect(await rows("SELECT count(*) AS n FROM sent_parts")).toEqual([{ n: 0 }]);
  });
});
