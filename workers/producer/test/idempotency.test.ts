import { env } from "cloudflare:test";
import { rollUpTotals } from "@sluice/pipeline/submission/sql/roll-up-totals.ts";
import { openDatabase } from "@sluice/db";
import { sweepSubmissions } from "@sluice/pipeline/submission/sql/sweep-submissions.ts";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { parseKeys } from "../src/http/keys.ts";
import { dispatch, jobId, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import { KEY, NOW, keyRecord, storedRows, testApi } from "./api.ts";
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

describe("a push with an Idempotency-Key", () => {
  it("that is repeated is told the first answer again, to the letter, and sends nothing", async () => {
    const api = await testApi();
    const first = await send(api, "k", FRANCE, { query: "?label=l" });
    const text = await first.text();
    const again = await send(api, "k", FRANCE, { query: "?label=l" });
    expect([again.status, await again.text()]).toEqual([202, text]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect(first.headers.get("idempotency-replayed")).toBeNull();
    expect(api.calls).toHaveLength(1);
  });

  it("streamed, with refused lines, is told the first answer again too", async () => {
    const api = await testApi();
    const body = `${lines(20)}\nnot json`;
    const first = await (await sendLines(api, "k", body)).text();
    const sent = api.messages().length;
    const again = await sendLines(api, "k", body);
    expect(await again.text()).toBe(first);
    expect(JSON.parse(first)).toMatchObject({ accepted: 20, rejected: [{ line: 21 }] });
    expect(api.messages()).toHaveLength(sent);
  });

  it.each([
    ["another body", { ...FRANCE, query: "capital of Spain" }, {}],
    ["other options", FRANCE, { query: "?collection=other" }],
    ["another type", JSON.stringify(FRANCE), { type: "application/x-ndjson" }],
  ])("is refused with 422 for %s, and nothing changes", async (_, body, more) => {
    const api = await testApi();
    const first = (await (await send(api, "k", FRANCE)).json()) as Accepted;
    const rows = await storedRows();
    const response = await send(api, "k", body, more);
    expect(response.status).toBe(422);
    expect(await problem(response)).toMatchObject({
      type: "/problems/idempotency-key-reused",
      detail: expect.stringMatching(/other options, another content type or another body.* or use a new key/),
      submission: first.submission.id,
    });
    expect([await storedRows(), api.calls.length]).toEqual([rows, 1]);
  });

  it("belongs to its API key: another's of the same name is another key", async () => {
    const keys = parseKeys(
      JSON.stringify([await keyRecord(KEY, { name: "a" }), await keyRecord("other", { name: "b" })]),
    );
    const api = await testApi({ keys });
    await send(api, "k", FRANCE);
    const headers = { authorization: "Bearer other", "content-type": "application/json", "idempotency-key": "k" };
    const other = await api.fetch("/v1/documents", { method: "POST", body: JSON.stringify(FRANCE), headers });
    expect([other.status, other.headers.get("idempotency-replayed")]).toEqual([202, null]);
    expect(await submissions()).toBe(2);
  });

  it("quoted, as the draft has it, is the same key as bare", async () => {
    const api = await testApi();
    await send(api, 'a "b" \\', FRANCE);
    expect((await send(api, '"a \\"b\\" \\\\"', FRANCE)).headers.get("idempotency-replayed")).toBe("true");
  });

  it.each([
    ["", 422],
    ["x".repeat(256), 422],
    ["é", 422],
    ["tab\tbed", 422],
    ["x".repeat(255), 202],
    ["a b", 202],
    ['"a, b"', 202],
  ])("%j is answered %i", async (key, status) => {
    const api = await testApi();
    expect((await send(api, key, FRANCE)).status).toBe(status);
  });

  it.each(["a, b", '"a", "b"', "a,b"])("is refused where it is two, which arrive as one: %s", async (joined) => {
    const api = await testApi();
    const response = await send(api, joined, FRANCE);
    expect([response.status, (await problem(response)).detail]).toEqual([
      422,
      "the header Idempotency-Key is given more than once, or holds a comma: " +
        'give one key, and one with a comma as a quoted string, such as "a,b"',
    ]);
    expect(await storedRows()).toBe(0);
  });

  it("is not used up by a refusal", async () => {
    const api = await testApi();
    expect((await send(api, "k", "not json")).status).toBe(400);
    expect((await send(api, "k", { query: "q", contexts: [] })).status).toBe(422);
    expect((await sendLines(api, "k", "bad")).status).toBe(422);
    expect(await storedRows()).toBe(0);
    expect((await send(api, "k", FRANCE)).status).toBe(202);
  });

  it("is forgotten after 24 hours, and expired ones go as new ones come", async () => {
    const clock = { now: NOW };
    const api = await testApi({ now: () => clock.now });
    await send(api, "a", FRANCE);
    await send(api, "b", FRANCE);
    clock.now += 24 * HOUR - 1;
    expect((await send(api, "a", FRANCE)).headers.get("idempotency-replayed")).toBe("true");
    clock.now += 1;
    expect((await send(api, "a", { ...FRANCE, query: "another" })).status).toBe(202);
    const { results } = await env.DB.prepare("SELECT key FROM idempotency_keys").all();
    expect(results).toEqual([{ key: "a" }]);
  });

  it("writes four rows for a document: submission, key with its index, and the answer", async () => {
    const { d1, counts } = countedDatabase(env.DB);
    const api = await testApi({ db: openDatabase(d1) });
    await send(api, "k", FRANCE);
    expect(counts.reduce((sum, count) => sum + count.written, 0)).toBe(4);
  });

  it("sent twice at once runs once", async () => {
    const api = await testApi();
    const answers = await Promise.all([1, 2, 3, 4].map(() => send(api, "k", FRANCE)));
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 202).length).toBeGreaterThanOrEqual(1);
    expect(statuses.every((status) => status === 202 || status === 409)).toBe(true);
    expect([await submissions(), api.calls.length]).toEqual([1, 1]);
    for (const answer of answers) if (answer.status === 409) expect(answer.headers.get("retry-after")).not.toBeNull();
  });
});

describe("a push that is under way", () => {
  it("keeps the same key out with 409, and says when to come again", async () => {
    const clock = { now: NOW };
    const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
    const { promise: reached, resolve: reach } = Promise.withResolvers<undefined>();
    const queue = {
      sendBatch: async () => {
        reach(undefined);
        await gate;
      },
    };
    const api = await testApi({ queues: { interactive: queue, bulk: queue }, now: () => clock.now });
    const first = send(api, "k", FRANCE);
    await reached;
    clock.now += 20_000;
    // Most pushes are over soon: nobody is kept until this one would count as broken off.
    const second = await send(api, "k", FRANCE);
    expect([second.status, second.headers.get("retry-after")]).toEqual([409, "2"]);
    expect(await problem(second)).toMatchObject({ type: "/problems/conflict" });
    clock.now += 39_001;
    expect((await send(api, "k", FRANCE)).headers.get("retry-after")).toBe("1");
    open(undefined);
    expect((await first).status).toBe(202);
    expect((await send(api, "k", FRANCE)).headers.get("idempotency-replayed")).toBe("true");
  });
});

describe("a push that broke off", () => {
  it("goes on at once under the same submission, where it said so itself", async () => {
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

  it("skips the parts that are recorded, and says how many documents that were", async () => {
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
  ])("is not gone on with by another body: %s", async (_, other) => {
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
    "is not gone on with under other options: %s",
    async (query) => {
      const { queues } = queuesUntil(2);
      await sendLines(await testApi({ queues }), "k", lines(60));
      const api = await testApi();
      const response = await sendLines(api, "k", lines(60), query);
      expect([response.status, api.calls]).toEqual([422, []]);
      expect((await sendLines(api, "k", lines(60))).status).toBe(202);
    },
  );

  it("without a word keeps the same key out for 60 seconds, then one request takes it over", async () => {
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

  it("of a single part is sent again under its submission, and not with another body", async () => {
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

  it("that the poller closed as incomplete is open again while it goes on, and whole at its end", async () => {
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

  it("that ended as incomplete and was added up is counted once, when it has gone on to its end", async () => {
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

  it("is lost to the request that had it, once another took it over", async () => {
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

  it("is lost before its last write, and then told so: what the other request is answered is there", async () => {
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
