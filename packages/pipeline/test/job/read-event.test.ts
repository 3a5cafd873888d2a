import { describe, expect, it } from "vitest";
import { readEvent } from "../../src/job/read-event.ts";

/** Creates an event in the form of a subscription. */
function eventOf(type: string, payload: unknown = { requestId: "batch-1" }) {
  return {
    type: `cf.workersAi.model.batch.${type}`,
    source: { type: "workersAi.model", modelName: "@cf/baai/bge-m3" },
    payload,
    metadata: {
      accountId: "account",
      eventSubscriptionId: "subscription",
      eventSchemaVersion: 1,
      eventTimestamp: "2026-09-21T14:13:20.000Z",
    },
  };
}

describe("a message of the events queue", () => {
  it.each(["succeeded", "failed"])("names the batch that %s, as an object and as JSON text", (type) => {
    const ended = { kind: "batch_ended", requestId: "batch-1" };
    expect(readEvent(eventOf(type))).toEqual(ended);
    expect(readEvent(JSON.stringify(eventOf(type)))).toEqual(ended);
  });

  it("continues a run", () => {
    expect(readEvent({ kind: "continue_run", token: "abc" })).toEqual({ kind: "continue_run", token: "abc" });
  });

  it.each([eventOf("queued"), eventOf("paused"), { ...eventOf("succeeded"), type: "cf.r2.bucket.created" }])(
    "is irrelevant if it does not report the end of a batch: %j",
    (event) => {
      expect(readEvent(event)).toEqual({ kind: "irrelevant" });
    },
  );

  it.each([
    undefined,
    null,
    7,
    "",
    "not JSON",
    "[]",
    [],
    {},
    { type: 7 },
    { kind: "continue_run" },
    { kind: "continue_run", token: "" },
    { kind: "continue_run", token: 7 },
    eventOf("succeeded", null),
    eventOf("succeeded", {}),
    eventOf("succeeded", { requestId: 7 }),
    eventOf("succeeded", { requestId: " " }),
    eventOf("succeeded", { requestId: "a\0b" }),
    eventOf("succeeded", { requestId: "x".repeat(513) }),
    new ArrayBuffer(4),
  ])("is unreadable: %j", (body) => {
    expect(readEvent(body)).toEqual({ kind: "unreadable" });
  });
});
