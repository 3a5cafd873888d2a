import { exports } from "cloudflare:workers";
import { env } from "cloudflare:test";
import type { SluiceService } from "@sluice/client/types";
import { parseMessage } from "@sluice/pipeline/message/message.ts";
import type { SubmissionId } from "@sluice/core";
import { quarantineMessage } from "@sluice/pipeline/message/sql/quarantine-message.ts";
import { describe, expect, it } from "vitest";
import { jobId, open, part } from "@sluice/pipeline/test-support/fixtures.ts";
import { parseKeys } from "../src/http/keys.ts";
import type { MalformedShape } from "../src/shapes/malformed.ts";
import type { StatsShape } from "../src/shapes/stats.ts";
import { KEY, NOW, keyRecord, testApi } from "./api.ts";
import { queuesUntil } from "./keyed-push.ts";
import { recordMessages } from "./record-messages.ts";
import { allPages, ask, at, db, post, refused, type Page } from "./stored.ts";

const LIST = "/v1/malformed";
const keep = (id: string, body: string, queue = "sluice-bulk", reason = "the body is not JSON") =>
  quarantineMessage(db(), { queue, id, reason, body }, NOW);
const list = async () => (await ask<Page<MalformedShape>>(LIST)).data;
const onlyPath = async () => `${LIST}/${(await list())[0]?.id ?? ""}/replay`;
const staged = async () => (await env.DB.prepare("SELECT submission_id, part, body FROM staged_parts").all()).results;
/** The message of a part; one of 150 KB is too large for a queue. */
const messageOf = (submission: SubmissionId, characters = 10) =>
  part(submission, 0, [{ id: "d", contexts: ["x".repeat(characters)] }]).body;

describe("GET /v1/malformed", () => {
  it("lists quarantined messages with their reasons and without their text", async () => {
    const submission = await open(db());
    const body = messageOf(submission);
    await keep("m1", body, "sluice-bulk-dead", "D1 cannot read its documents");
    const [message] = await list();
    expect(message).toEqual({
      id: expect.stringMatching(/^msg_[A-Za-z0-9_-]+$/),
      queue: "sluice-bulk-dead",
      message_id: "m1",
      reason: "D1 cannot read its documents",
      submission_id: submission,
      bytes: body.length,
      received_at: at(NOW),
    });
    expect((await list())[0]?.id).toBe(message?.id);
  });

  it("gives each message once, page by page", async () => {
    const names = Array.from({ length: 5 }, (_, index) => `m${index}`);
    for (const name of names) await keep(name, "x", name < "m3" ? "sluice-bulk" : "sluice-interactive");
    const pages = await allPages<MalformedShape>(`${LIST}?limit=2`);
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat().map((one) => one.message_id)).toEqual(names);
  });

  it("needs the admin scope for every collection", async () => {
    for (const more of [{ scopes: ["read", "ingest"] as const }, { collections: ["mine"] }]) {
      const api = await testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, more)])) });
      expect((await refused(LIST, {}, api)).response.status).toBe(403);
      expect((await refused(`${LIST}/msg_x/replay`, post(), api)).response.status).toBe(403);
      expect((await refused(`${LIST}/msg_x`, { method: "DELETE" }, api)).response.status).toBe(403);
    }
  });

  it("is counted in the stats", async () => {
    expect((await ask<StatsShape>("/v1/stats")).malformed_messages).toBe(0);
    for (const name of ["a", "b"]) await keep(name, "x");
    expect((await ask<StatsShape>("/v1/stats")).malformed_messages).toBe(2);
  });
});

describe("POST /v1/malformed/{id}/replay", () => {
  it.each(["sluice-bulk", "sluice-bulk-dead", "sluice-interactive"])(
    "sends the message to its lane's queue again and removes it: from %s",
    async (queue) => {
      const submission = await open(db());
      const body = messageOf(submission);
      await keep("m", body, queue);
      const api = await testApi();
      expect(await ask(await onlyPath(), post(), api)).toEqual({ replayed: 1 });
      expect(api.calls).toEqual([{ lane: "bulk", bodies: [body] }]);
      expect(await list()).toEqual([]);
      expect(await recordMessages(api.calls[0]?.bodies ?? [], jobId())).toBe(1);
      expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({ counts: { total: 1, processing: 1 } });
    },
  );

  it("sends an unreadable message by the name of its queue", async () => {
    await keep("m", '{"v":2}', "sluice-interactive-staging-dead");
    const api = await testApi();
    await ask(await onlyPath(), post(), api);
    expect(api.calls).toEqual([{ lane: "interactive", bodies: ['{"v":2}'] }]);
  });

  it("keeps the message if the queue does not accept it", async () => {
    await keep("m", "x");
    const api = await testApi({ queues: queuesUntil(0).queues });
    const { response, problem } = await refused(await onlyPath(), post(), api);
    expect([response.status, problem.type, response.headers.get("retry-after")]).toEqual([
      503,
      "/problems/unavailable",
      "10",
    ]);
    expect(await list()).toHaveLength(1);
  });

  it.each(["staged_parts", "sluice-bulk"])(
    "stages a part that no message can hold again, and sends its reference: from %s",
    async (queue) => {
      const submission = await open(db());
      const body = messageOf(submission, 150_000);
      await keep(`${submission}/0`, body, queue);
      const api = await testApi();
      expect(await ask(await onlyPath(), post(), api)).toEqual({ replayed: 1 });
      expect(await staged()).toEqual([{ submission_id: submission, part: 0, body }]);
      expect(api.messages()).toMatchObject([{ kind: "staged", submission, part: 0 }]);
      expect(api.calls.flatMap(({ bodies }) => bodies).every((one) => parseMessage(one).ok)).toBe(true);
      expect(await list()).toEqual([]);
    },
  );

  it("stages a part even if the queue does not accept its reference, since the poller records it", async () => {
    const submission = await open(db());
    await keep("m", messageOf(submission, 150_000));
    const api = await testApi({ queues: queuesUntil(0).queues });
    expect(await ask(await onlyPath(), post(), api)).toEqual({ replayed: 1 });
    expect(await staged()).toHaveLength(1);
  });

  it.each([
    [
      "of a submission that is not there",
      "sluice-bulk",
      messageOf("sub_0190f3c2-0000-7000-8000-000000000001" as SubmissionId, 150_000),
    ],
    ["larger than a queue takes, and not a part", "sluice-bulk", "x".repeat(150_000)],
    ["without a lane, from a queue without one", "another", "x"],
    ["a staged part that says nothing", "staged_parts", "{}"],
  ])("keeps a message and says 409 where it can go nowhere: %s", async (_, queue, body) => {
    await keep("m", body, queue);
    const path = await onlyPath();
    const { problem } = await refused(path, post());
    expect(problem.type).toBe("/problems/conflict");
    expect(problem.detail).toContain("discard it: DELETE /v1/malformed/{id}, or sluice malformed --discard ID");
    expect(await list()).toHaveLength(1);
    const api = await testApi();
    const discarded = await api.fetch(path.replace("/replay", ""), { method: "DELETE" });
    expect([discarded.status, await discarded.text()]).toEqual([204, ""]);
    expect(await list()).toEqual([]);
    expect(await staged()).toEqual([]);
  });

  it.each(["msg_x", "msg_c2x1aWNlLWJ1bGsvbm9uZQ", "nothing"])("is 404 for an unknown id: %s", async (id) => {
    for (const [path, init] of [
      [`${LIST}/${id}/replay`, post()],
      [`${LIST}/${id}`, { method: "DELETE" }],
    ] as const)
      expect((await refused(path, init)).response.status).toBe(404);
  });

  it("works over RPC too", async () => {
    const sluice = (exports as unknown as { readonly Sluice: SluiceService }).Sluice;
    await keep("m", "x");
    const { data, next_cursor: next } = await sluice.malformed({ limit: 1 });
    expect([data.map((one) => one.message_id), next]).toEqual([["m"], expect.any(String)]);
    expect(await sluice.replayMalformed(data[0]?.id ?? "")).toEqual({ replayed: 1 });
    expect(await sluice.replayMalformed(data[0]?.id ?? "")).toBeNull();
    expect((await sluice.malformed()).data).toEqual([]);
    await keep("m", "x");
    expect(await sluice.discardMalformed(data[0]?.id ?? "")).toBe(true);
    expect(await sluice.discardMalformed(data[0]?.id ?? "")).toBe(false);
    expect((await sluice.malformed()).data).toEqual([]);
  });
});
