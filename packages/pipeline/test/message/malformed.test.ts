import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import type { SubmissionId } from "@sluice/core";
import { stagePart } from "../../src/message/sql/stage-parts.ts";
import { bodyOf, counters, document, NOW, onlyJob, open, part, rows } from "../../test-support/index.ts";
import { deliver, messageOf, QUEUE } from "../../test-support/deliver.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

let submission: SubmissionId;
beforeEach(async () => {
  submission = await open(context.db, { total: 2 });
});

const STRANGER = "sub_0190f3c2-0000-7000-8000-000000000001" as SubmissionId;
const kept = () =>
  rows(env.DB, "SELECT queue, message_id AS id, reason, received_at AS at, body FROM malformed_messages");
const valid = () => bodyOf(part(submission, 7, [document("x")]));
const changed = (changes: Record<string, unknown>) =>
  JSON.stringify({ ...(JSON.parse(valid()) as object), ...changes });
const reference = (of: SubmissionId, changes: Record<string, unknown> = {}) =>
  JSON.stringify({ v: 1, kind: "staged", submission: of, lane: "bulk", part: 3, ...changes });

const kinds: readonly { readonly kind: string; readonly body: () => unknown; readonly reason: string }[] = [
  { kind: "an empty body", body: () => "", reason: "the body is not JSON" },
  { kind: "a body that is not JSON", body: () => "<html>", reason: "the body is not JSON" },
  { kind: "half of a body", body: () => valid().slice(0, 200), reason: "the body is not JSON" },
  { kind: "JSON null", body: () => "null", reason: "the body is not a part" },
  { kind: "a JSON list", body: () => "[]", reason: "the body is not a part" },
  {
    kind: "JSON of another shape",
    body: () => '{"hello":"world"}',
    reason: `the body's "kind" is not valid in this version`,
  },
  { kind: "a later version", body: () => changed({ v: 2 }), reason: `the body's "v" is not valid in this version` },
  {
    kind: "another kind",
    body: () => changed({ kind: "whole" }),
    reason: `the body's "kind" is not valid in this version`,
  },
  {
    kind: "an invalid submission id",
    body: () => changed({ submission: "sub_1" }),
    reason: `the body's "submission" is not valid in this version`,
  },
  {
    kind: "an unknown model",
    body: () => changed({ model: "@cf/none" }),
    reason: `the body's "model" is not valid in this version`,
  },
  {
    kind: "an unknown lane",
    body: () => changed({ lane: "slow" }),
    reason: `the body's "lane" is not valid in this version`,
  },
  {
    kind: "an invalid part number",
    body: () => changed({ part: -1 }),
    reason: `the body's "part" is not valid in this version`,
  },
  {
    kind: "no documents",
    body: () => changed({ documents: [] }),
    reason: `the body's "documents" is not valid in this version`,
  },
  {
    kind: "a document without contexts",
    body: () => changed({ documents: [{ place: 0, id: "d", bytes: 10, query: "q" }] }),
    reason: `the body's "documents.0.contexts" is not valid in this version`,
  },
  {
    kind: "metadata that is not text",
    body: () => valid().replace('"query"', '"metadata":{"a":1},"query"'),
    reason: `the body's "documents.0.metadata" is not valid in this version`,
  },
  {
    kind: "metadata that is not the text of an object",
    body: () => valid().replace('"query"', '"metadata":"[1]","query"'),
    reason: `the body's "documents.0.metadata" is not valid in this version`,
  },
  {
    kind: "metadata that is not JSON",
    body: () => valid().replace('"query"', '"metadata":"{1}","query"'),
    reason: `the body's "documents.0.metadata" is not valid in this version`,
  },
  { kind: "a body of bytes", body: () => new TextEncoder().encode("bytes").buffer, reason: "the body is not text" },
  { kind: "an object for a body", body: () => ({ v: 1, kind: "part" }), reason: "the body is not text" },
  { kind: "no body at all", body: () => undefined, reason: "the body is not text" },
  { kind: "a number too large for JSON", body: () => 1n, reason: "the body is not text" },
  {
    kind: "a part of an unknown submission",
    body: () => bodyOf(part(STRANGER, 0, [document("x")])),
    reason: "its submission is not in D1",
  },
  {
    kind: "a reference to a part that is not staged",
    body: () => reference(submission),
    reason: "its part is not staged",
  },
  {
    kind: "a reference in an unknown submission",
    body: () => reference(STRANGER),
    reason: "its submission is not in D1",
  },
  {
    kind: "a reference of a later version",
    body: () => reference(submission, { v: 2 }),
    reason: `the body's "v" is not valid in this version`,
  },
];

describe("a malformed message", () => {
  it.each(kinds)(
    "is stored with its reason and acknowledged, and its neighbors recorded: $kind",
    async ({ body, reason }) => {
      const messages = [
        messageOf(part(submission, 0, [document("before")])),
        { id: "bad", body: body() },
        messageOf(part(submission, 1, [document("after")], 1)),
      ];
      expect(await deliver(context, messages)).toEqual(["ack", "ack", "ack"]);
      expect(await kept()).toMatchObject([{ queue: QUEUE, id: "bad", reason, at: NOW }]);
      expect(await counters(env.DB, submission)).toMatchObject({ total: 2, recorded: 2 });
      expect(await onlyJob(env.DB)).toMatchObject({ status: "dispatched", documents: ["before", "after"] });
      expect(service.submits.map(({ requests }) => requests.length)).toEqual([2]);
    },
  );

  it.each([
    { kind: "text", body: "<html>é", stored: "<html>é" },
    { kind: "bytes", body: new TextEncoder().encode("some bytes").buffer, stored: "some bytes" },
    { kind: "an object", body: { a: [1, "two"] }, stored: '{"a":[1,"two"]}' },
  ])("is stored whole: $kind", async ({ body, stored }) => {
    await deliver(context, [{ id: "bad", body }]);
    expect(await kept()).toMatchObject([{ body: stored }]);
  });

  it("is stored once, however often it is delivered", async () => {
    await deliver(context, [{ id: "bad", body: "x" }]);
    const before = await kept();
    context.clock.now += 60_000;
    expect(await deliver(context, [{ id: "bad", body: "x" }])).toEqual(["ack"]);
    expect(await kept()).toEqual(before);
  });

  it("is logged with its reason and submission, without its text", async () => {
    await deliver(context, [{ id: "bad", body: changed({ v: 2, documents: [{ query: "SECRET" }] }) }]);
    expect(context.events).toMatchObject([
      { event: "message_malformed", queue: QUEUE, message: "bad", submission },
      { event: "delivery_consumed", messages: 1, parts: 0, malformed: 1, retried: 0 },
    ]);
    expect(JSON.stringify(context.events)).not.toContain("SECRET");
  });

  it("can be a staged part with unreadable text", async () => {
    await stagePart(context.db, submission, { part: 3, body: "not a part", total: 2 }, NOW);
    expect(await deliver(context, [{ id: "bad", body: reference(submission) }])).toEqual(["ack"]);
    expect(await kept()).toMatchObject([{ id: "bad", reason: "the body is not JSON" }]);
  });

  it("can be a staged part that only refers to another", async () => {
    await stagePart(context.db, submission, { part: 3, body: reference(submission), total: 2 }, NOW);
    expect(await deliver(context, [{ id: "bad", body: reference(submission) }])).toEqual(["ack"]);
    expect(await kept()).toMatchObject([{ id: "bad", reason: "the staged part refers to another part" }]);
  });
});

describe("a message that D1 cannot read", () => {
  it("is stored and acknowledged, and its neighbors recorded and sent", async () => {
    // Every message that passes the check is readable, so a trigger reads a query as JSON, which it is not.
    await env.DB.exec(
      "CREATE TRIGGER unreadable BEFORE INSERT ON documents WHEN NEW.document_id = 'x' BEGIN SELECT json(NEW.query); END",
    );
    const good = [messageOf(part(submission, 0, [document("a")])), messageOf(part(submission, 1, [document("b")], 1))];
    const bad = { ...messageOf(part(submission, 2, [document("x")], 2)), id: "bad" };
    expect(await deliver(context, [...good.slice(0, 1), bad, ...good.slice(1)])).toEqual(["ack", "ack", "ack"]);
    await env.DB.exec("DROP TRIGGER unreadable");
    expect(await kept()).toMatchObject([{ id: "bad", reason: "D1 cannot read its documents" }]);
    expect(await counters(env.DB, submission)).toMatchObject({ total: 2, recorded: 2 });
    expect(service.submits.flatMap(({ requests }) => requests.map(({ query }) => query))).toEqual(
      [document("a"), document("b")].map(({ query }) => query),
    );
  });
});
