import { env } from "cloudflare:test";
import { rollUpTotals } from "@sluice/pipeline/submission/sql/roll-up-totals.ts";
import { openDatabase } from "@sluice/db";
import { sweepSubmissions } from "@sluice/pipeline/submission/sql/sweep-submissions.ts";
import { describe, expect, it } from "vitest";
import { dispatch, jobId, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import { NOW, testApi } from "./api.ts";
import { recordMessages } from "./record-messages.ts";
import {
  MINUTE,
  HOUR,
  FRANCE,
  type Accepted,
  send,
  lines,
  sendLines,
  queuesUntil,
  problem,
  submissions,
  idsIn,
} from "./keyed-push.ts";

describe("an interrupted push", () => {
  it("resumes at once under the same submission if it was marked as interrupted", async () => {
    const { queues } = queuesUntil(2);
    const broken = await sendLines(await testApi({ queues }), "k", lines(60));
    expect([broken.status, broken.headers.get("retry-after")]).toEqual([503, "10"]);
    const { submission } = await problem(broken);
    const rest = queuesUntil(Infinity);
    const answer = await sendLines(await testApi({ queues: rest.queues }), "k", lines(60));
    const body = (await answer.json()) as Accepted;
    expect([answer.status, body.accepted, body.submission.id]).toEqual([202, 60, submission]);
    expect(body.submission.counts["total"]).toBe(60);
    // Nothing was recorded, so all of it is sent again: recording it twice changes nothing.
    expect(idsIn(rest.taken.flat())).toEqual(Array.from({ length: 60 }, (_, index) => `d${index}`));
    expect(answer.headers.get("idempotency-resumed")).toBe("0");
    expect(await env.DB.prepare("SELECT total, closed_at FROM submissions").first()).toEqual({
      total: 60,
      closed_at: NOW,
    });
  });

  it("skips recorded parts, and says how many documents they have", async () => {
    const { queues, taken } = queuesUntil(2);
    await sendLines(await testApi({ queues }), "k", lines(60));
    const recorded = await recordMessages(taken.flat(), jobId());
    const rest = queuesUntil(Infinity);
    const answer = await sendLines(await testApi({ queues: rest.queues }), "k", lines(60));
    expect(answer.headers.get("idempotency-resumed")).toBe(String(recorded));
    expect(recorded).toBeGreaterThan(0);
    expect([...idsIn(taken.flat()), ...idsIn(rest.taken.flat())]).toEqual(
      Array.from({ length: 60 }, (_, index) => `d${index}`),
    );
    await recordMessages(rest.taken.flat(), jobId());
    const row = await env.DB.prepare(
      "SELECT total, recorded, closed_at IS NOT NULL AS closed FROM submissions",
    ).first();
    expect(row).toEqual({ total: 60, recorded: 60, closed: 1 });
    expect((await sendLines(await testApi(), "k", lines(60))).headers.get("idempotency-replayed")).toBe("true");
  });

  it.each([
    ["other texts", lines(60, "y")],
    ["fewer documents", lines(6)],
  ])("is not resumed with another body: %s", async (_, other) => {
    const { queues, taken } = queuesUntil(2);
    await sendLines(await testApi({ queues }), "k", lines(60));
    await recordMessages(taken.flat(), jobId());
    const rest = queuesUntil(Infinity);
    const api = await testApi({ queues: rest.queues });
    const response = await sendLines(api, "k", other);
    expect([response.status, (await problem(response)).type]).toEqual([422, "/problems/idempotency-key-reused"]);
    expect(rest.taken).toEqual([]);
    // The right body goes on all the same.
    expect((await sendLines(api, "k", lines(60))).status).toBe(202);
  });

  it.each(["?collection=other", "?lane=interactive", "?label=l", "?truncate_inputs=false"])(
    "is not resumed with other options: %s",
    async (query) => {
      const { queues } = queuesUntil(2);
      await sendLines(await testApi({ queues }), "k", lines(60));
      const api = await testApi();
      const response = await sendLines(api, "k", lines(60), query);
      expect([response.status, api.calls]).toEqual([422, []]);
      expect((await sendLines(api, "k", lines(60))).status).toBe(202);
    },
  );

  it("that was not marked as such answers 409 for 60 s, then one request takes it over", async () => {
    const clock = { now: NOW };
    const { queues } = queuesUntil(2);
    const api = await testApi({ queues, now: () => clock.now });
    await sendLines(api, "k", lines(60));
    await env.DB.prepare("UPDATE submissions SET holder = NULL").run();
    clock.now += MINUTE - 1;
    expect((await sendLines(api, "k", lines(60))).headers.get("retry-after")).toBe("1");
    clock.now += 1;
    const rest = await testApi({ now: () => clock.now });
    const answers = await Promise.all([1, 2].map(() => sendLines(rest, "k", lines(60))));
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([202, 409]);
  });

  it("of a single part is sent again under its submission, but not with another body", async () => {
    const { queues } = queuesUntil(0);
    const broken = await problem(await send(await testApi({ queues }), "k", FRANCE));
    const api = await testApi();
    expect((await send(api, "k", { ...FRANCE, query: "another" })).status).toBe(422);
    expect(api.calls).toEqual([]);
    const body = (await (await send(api, "k", FRANCE)).json()) as Accepted;
    expect(body.submission).toMatchObject({ id: broken.submission, status: "queued", counts: { total: 1 } });
    expect(api.messages()).toMatchObject([{ submission: broken.submission, part: 0 }]);
    expect(await submissions()).toBe(1);
  });

  it("that the poller closed as incomplete reopens when it resumes, and ends complete", async () => {
    const clock = { now: NOW };
    const { queues, taken } = queuesUntil(2);
    await sendLines(await testApi({ queues }), "k", lines(60));
    await recordMessages(taken.flat(), jobId());
    const db = openDatabase(env.DB);
    clock.now += 2 * HOUR;
    const times = {
      now: clock.now,
      settledBy: clock.now - 10 * MINUTE,
      abandonedBefore: clock.now - HOUR,
      lostBefore: 0,
    };
    await sweepSubmissions(db, times);
    expect(await env.DB.prepare("SELECT incomplete FROM submissions").first()).toEqual({ incomplete: 1 });
    const again = queuesUntil(1);
    await sendLines(await testApi({ queues: again.queues, now: () => clock.now }), "k", lines(60));
    // It broke off once more: the poller looks after it as after any other.
    clock.now += 2 * HOUR;
    await sweepSubmissions(db, { ...times, now: clock.now, abandonedBefore: clock.now - HOUR });
    expect(await env.DB.prepare("SELECT incomplete FROM submissions").first()).toEqual({ incomplete: 1 });
    const answer = await sendLines(await testApi({ now: () => clock.now }), "k", lines(60));
    expect(answer.status).toBe(202);
    expect(await env.DB.prepare("SELECT incomplete, total, closed_at FROM submissions").first()).toEqual({
      incomplete: 0,
      total: 60,
      closed_at: clock.now,
    });
  });

  it("that ended as incomplete and was rolled up is counted once after it resumed", async () => {
    const clock = { now: NOW };
    const db = openDatabase(env.DB);
    const end = async (bodies: readonly string[]) => {
      const job = jobId();
      await recordMessages(bodies, job);
      await succeed(db, job, await dispatch(db, job));
    };
    const counts = async () => {
      while (await rollUpTotals(db, NOW + HOUR));
      const stats = await (await testApi({ now: () => clock.now })).fetch("/v1/stats");
      return ((await stats.json()) as { lanes: { bulk: Record<string, number> } }).lanes.bulk;
    };
    const pieces = [new TextEncoder().encode(lines(30))].values();
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const { value, done } = pieces.next();
        if (done === true) controller.error(new Error("the client is gone"));
        else controller.enqueue(value);
      },
    });
    const first = queuesUntil(Infinity);
    const headers = { "content-type": "application/x-ndjson", "idempotency-key": "k" };
    const broken = await (
      await testApi({ queues: first.queues })
    ).fetch("/v1/documents", {
      method: "POST",
      body,
      headers,
    });
    expect(broken.status).toBe(400);
    const ended = idsIn(first.taken.flat()).length;
    expect(ended).toBeGreaterThan(0);
    await end(first.taken.flat());
    clock.now += 2 * HOUR;
    const times = { settledBy: NOW + HOUR, abandonedBefore: NOW + HOUR, lostBefore: 0 };
    await sweepSubmissions(db, { now: clock.now, ...times });
    expect(await counts()).toMatchObject({ queued: 0, succeeded: ended });
    const sums = () => env.DB.prepare("SELECT total, succeeded FROM totals WHERE kind = 'lane'").first();
    expect(await sums()).toEqual({ total: ended, succeeded: ended });

    const rest = queuesUntil(Infinity);
    const api = await testApi({ queues: rest.queues, now: () => clock.now });
    expect((await sendLines(api, "k", lines(60))).status).toBe(202);
    expect(await counts()).toMatchObject({ queued: 60 - ended, succeeded: ended });
    await end(rest.taken.flat());
    expect(await counts()).toMatchObject({ queued: 0, succeeded: 60 });
    expect(await sums()).toEqual({ total: 60, succeeded: 60 });
  });

  it("fails for its first request once another took it over", async () => {
    const clock = { now: NOW };
    let calls = 0;
    const gate = Promise.withResolvers<undefined>();
    const reached = Promise.withResolvers<undefined>();
    const queue = {
      sendBatch: async () => {
        calls += 1;
        if (calls !== 1) return;
        reached.resolve(undefined);
        await gate.promise;
      },
    };
    const api = await testApi({ queues: { interactive: queue, bulk: queue }, now: () => clock.now });
    const slow = sendLines(api, "k", lines(60));
    await reached.promise;
    clock.now += 2 * MINUTE;
    const over = await sendLines(await testApi({ now: () => clock.now }), "k", lines(60));
    expect(over.status).toBe(202);
    gate.resolve(undefined);
    expect((await slow).status).toBe(409);
    expect(await env.DB.prepare("SELECT total, closed_at FROM submissions").first()).toEqual({
      total: 60,
      closed_at: clock.now,
    });
  });

  it("that is taken over before its last write is 409, and the answer of the other request stays", async () => {
    const clock = { now: NOW };
    const body = lines(24);
    let calls = 0;
    const over: Accepted[] = [];
    const queue = {
      sendBatch: async () => {
        calls += 1;
        // The last call of the first request: all that is left to it is to close the submission.
        if (calls !== 2) return;
        clock.now += 2 * MINUTE;
        over.push(await (await sendLines(await testApi({ now: () => clock.now }), "k", body)).json<Accepted>());
      },
    };
    const api = await testApi({ queues: { interactive: queue, bulk: queue }, now: () => clock.now });
    const slow = await sendLines(api, "k", body);
    expect([slow.status, slow.headers.get("retry-after"), calls]).toEqual([409, "2", 2]);
    expect(await problem(slow)).toMatchObject({
      type: "/problems/conflict",
      detail: expect.stringContaining("took over this push") as string,
      submission: over[0]?.submission.id,
    });
    expect((await sendLines(api, "k", body)).headers.get("idempotency-replayed")).toBe("true");
  });
});
