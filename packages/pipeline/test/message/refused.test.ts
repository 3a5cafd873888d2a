import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import type { SubmissionId } from "@sluice/core";
import { bodyOf, counters, document, documents, open, part, rows } from "../../test-support/index.ts";
import configuration from "../../../../workers/consumer/wrangler.jsonc?raw";
import { MAX_REFUSED_DELIVERIES } from "../../src/message/after-refused-delivery.ts";
import { decide, messageOf, QUEUE } from "../../test-support/deliver.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

let submission: SubmissionId;
beforeEach(async () => {
  submission = await open(context.db, { total: 2 });
});

const kept = () => rows(env.DB, "SELECT queue, message_id AS id, reason FROM malformed_messages");
/** A part with more documents than its submission counts. */
const refused = (delivery = 1) => ({
  id: "bad",
  body: bodyOf(part(submission, 7, documents("x", 3))),
  attempts: delivery,
});
const good = (number: number, id: string) => messageOf(part(submission, number, [document(id)], number));

describe("a message that a constraint of D1 forbids", () => {
  it("is retried after a delay, and its neighbors are recorded and sent", async () => {
    const decisions = await decide(context, [good(0, "a"), refused(), good(1, "b")]);
    expect([...decisions.values()]).toEqual([{ kind: "ack" }, { kind: "retry", delaySeconds: 30 }, { kind: "ack" }]);
    expect(await kept()).toEqual([]);
    expect(await counters(env.DB, submission)).toMatchObject({ total: 2, recorded: 2 });
    expect(service.submits.flatMap(({ requests }) => requests.map(({ query }) => query))).toEqual(
      [document("a"), document("b")].map(({ query }) => query),
    );
  });

  it("logs an error that names the constraint, without text", async () => {
    await decide(context, [refused(3)]);
    expect(context.events).toContainEqual({
      event: "recording_refused",
      level: "error",
      constraint: "CHECK submissions_recorded",
      queue: QUEUE,
      message: "bad",
      submission,
      part: 7,
      attempts: 3,
      retry_in_seconds: 120,
    });
    expect(JSON.stringify(context.events)).not.toContain(document("x").query);
  });

  it("includes a trigger's refusal, logged by code because its message may hold a value", async () => {
    await env.DB.prepare(
      "CREATE TRIGGER strict BEFORE INSERT ON documents WHEN NEW.document_id = 'a' BEGIN SELECT RAISE(ABORT, 'no secret'); END",
    ).run();
    try {
      const decisions = await decide(context, [good(0, "a"), good(1, "b")]);
      expect([...decisions.values()]).toEqual([{ kind: "retry", delaySeconds: 30 }, { kind: "ack" }]);
      expect(context.events).toContainEqual(
        expect.objectContaining({
          event: "recording_refused",
          level: "error",
          constraint: "SQLITE_CONSTRAINT_TRIGGER",
        }),
      );
      expect(JSON.stringify(context.events)).not.toContain("secret");
    } finally {
      await env.DB.prepare("DROP TRIGGER strict").run();
    }
  });

  it("includes a message for which the schema lacks a column", async () => {
    await env.DB.prepare("ALTER TABLE parts RENAME COLUMN hash TO fingerprint").run();
    try {
      const decisions = await decide(context, [good(0, "a")]);
      expect([...decisions.values()]).toEqual([{ kind: "retry", delaySeconds: 30 }]);
      const refusal = { event: "recording_refused", level: "error", constraint: "SQLITE_ERROR" };
      expect(context.events).toContainEqual(expect.objectContaining(refusal));
    } finally {
      await env.DB.prepare("ALTER TABLE parts RENAME COLUMN fingerprint TO hash").run();
    }
  });

  it.each([
    [1, 30],
    [2, 60],
    [6, 960],
    [7, 1_800],
    [MAX_REFUSED_DELIVERIES - 1, 1_800],
  ])("waits longer with each delivery: after delivery %i for %i s", async (delivery, delaySeconds) => {
    expect((await decide(context, [refused(delivery)])).get("bad")).toEqual({ kind: "retry", delaySeconds });
  });

  it("is recorded once the cause is fixed", async () => {
    await decide(context, [refused()]);
    await env.DB.prepare("UPDATE submissions SET total = 3").run();
    expect((await decide(context, [refused(2)])).get("bad")).toEqual({ kind: "ack" });
    expect(await counters(env.DB, submission)).toMatchObject({ total: 3, recorded: 3 });
  });

  it("is quarantined before its last queue drops it", async () => {
    expect((await decide(context, [refused(MAX_REFUSED_DELIVERIES)])).get("bad")).toEqual({ kind: "ack" });
    expect(await kept()).toEqual([
      { queue: QUEUE, id: "bad", reason: "D1 refuses its documents: CHECK submissions_recorded" },
    ]);
    const maxRetries = Array.from(configuration.matchAll(/"max_retries": (\d+)/g), ([, retries]) => Number(retries));
    expect(maxRetries.filter((retries) => retries >= MAX_REFUSED_DELIVERIES)).toHaveLength(2);
    expect(maxRetries.filter((retries) => retries < MAX_REFUSED_DELIVERIES)).toEqual([50, 50]);
  });
});
