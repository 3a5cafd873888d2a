import type { RequestId } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { pollBatch } from "../src/index.ts";
import { MAX_ANSWER_BYTES } from "../src/read-answer.ts";
import { FakeAiBinding, jsonResponse } from "./fake-ai-binding.ts";
import { answering, MODEL, REQUEST_ID, streamOf, throwing, unbounded } from "./support.ts";

const poll = (binding: Parameters<typeof pollBatch>[0]) => pollBatch(binding, MODEL, REQUEST_ID, unbounded);

const item = { id: 0, result: { response: [{ id: 0, score: 0.5 }] }, success: true, external_reference: null };
const shapeA = { responses: [item], usage: { prompt_tokens: 12, completion_tokens: 0, total_tokens: 12 } };
const shapeB = { results: [{ index: 0, success: true, result: item.result }] };

describe("polling a batch", () => {
  test("sends only the request_id", async () => {
    const binding = new FakeAiBinding(() => jsonResponse({ status: "running", request_id: REQUEST_ID }));
    expect(await poll(binding)).toEqual({ kind: "pending", state: "running" });
    expect(binding.sent).toEqual([{ model: MODEL, inputs: { request_id: REQUEST_ID }, options: {} }]);
  });

  test.each(["", "  ", undefined])("throws on %j before any call", async (requestId) => {
    const binding = new FakeAiBinding(() => jsonResponse(shapeA));
    await expect(pollBatch(binding, MODEL, requestId as RequestId, unbounded)).rejects.toThrow(TypeError);
    expect(binding.sent).toEqual([]);
  });

  test.each([
    ["queued", "queued"],
    ["running", "running"],
    ["RUNNING", "running"],
  ])("treats status %j as pending", async (status, state) => {
    const waiting = { status, request_id: REQUEST_ID, model: MODEL };
    expect(await poll(answering(waiting))).toEqual({ kind: "pending", state });
    expect(await poll(answering({ result: waiting, success: true, errors: [] }))).toEqual({ kind: "pending", state });
  });

  test("does not accept the partial results of a running batch", async () => {
    expect(await poll(answering({ status: "running", responses: [] }))).toEqual({ kind: "pending", state: "running" });
  });

  test.each([
    ["shape A", shapeA, [item], 12],
    ["shape A in an envelope", { result: shapeA, success: true, errors: [], messages: [] }, [item], 12],
    ["shape A with a status", { ...shapeA, status: "completed" }, [item], 12],
    ["shape B", shapeB, shapeB.results, null],
    ["shape B under result", { result: shapeB }, shapeB.results, null],
    ["shape B under result twice", { result: { result: shapeB } }, shapeB.results, null],
    ["an empty list", { responses: [] }, [], null],
    ["strange items", { responses: [null, 7, "x", [], item] }, [item], null],
    ["tokens that are not a number", { responses: [], usage: { total_tokens: "many" } }, [], null],
    ["items of a failed batch", { ...shapeA, status: "failed" }, [item], 12],
    ["items beside success: false", { result: shapeA, success: false, errors: [{ code: 3040 }] }, [item], 12],
  ])("accepts %s", async (_what, answer, items, tokens) => {
    expect(await poll(answering(answer))).toEqual({ kind: "answered", items, tokens });
  });

  test.each([
    ["parsed, under the exact content type", () => new FakeAiBinding(() => jsonResponse(shapeA))],
    [
      "a stream, under another",
      () => new FakeAiBinding(() => jsonResponse(shapeA, 200, "application/json; charset=utf-8")),
    ],
    ["a Response", () => answering(jsonResponse(shapeA, 200, "text/plain"))],
    ["text", () => answering(JSON.stringify(shapeA))],
  ])("reads the body as %s", async (_form, binding) => {
    expect(await poll(binding())).toEqual({ kind: "answered", items: [item], tokens: 12 });
  });

  test("rejoins characters that a stream splits", async () => {
    const failed = { id: 0, success: false, error: "é😀" };
    const answer = answering(streamOf(JSON.stringify({ responses: [failed] }), 1));
    expect(await poll(answer)).toEqual({ kind: "answered", items: [failed], tokens: null });
  });
});

describe("a poll without an answer", () => {
  test.each([
    ["failed", "retry"],
    ["error", "retry"],
    ["Errored", "retry"],
    ["expired", "forgotten"],
    ["canceled", "forgotten"],
  ])("status %j ends the batch, %s", async (status, failureClass) => {
    const expected = { kind: "refused", refusal: { class: failureClass, code: null, mayBeRunning: false } };
    expect(await poll(answering({ status, request_id: REQUEST_ID }))).toMatchObject(expected);
    expect(await poll(answering({ status, responses: [] }))).toMatchObject(expected);
    expect(await poll(answering({ result: { status }, success: true }))).toMatchObject(expected);
    expect(await poll(answering({ result: { status }, success: false, errors: [] }))).toMatchObject(expected);
  });

  test("classifies a failed batch by its error", async () => {
    expect(await poll(answering({ status: "failed", error: "5006: required properties at '/'" }))).toEqual({
      kind: "refused",
      refusal: {
        class: "invalid",
        code: 5006,
        message: "5006: required properties at '/'",
        retryAfterSeconds: null,
        mayBeRunning: false,
      },
    });
    expect(await poll(answering({ status: "expired", errors: [{ code: 3036, message: "used up" }] }))).toMatchObject({
      refusal: { class: "pause", mayBeRunning: false },
    });
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["an object of unknown form", { hello: "world" }],
    ["an unknown status", { status: "thinking" }],
    ["a list of the wrong type", { responses: { 0: item } }],
    ["endless nesting", JSON.parse('{"result":'.repeat(50) + JSON.stringify(shapeA) + "}".repeat(50)) as unknown],
    ["success: false without a reason", { success: false, errors: [] }],
    ["broken JSON", '{"responses":[{"id":0'],
  ])("polls again after %s, because the batch may still be answered", async (_what, answer) => {
    expect(await poll(answering(answer))).toMatchObject({
      kind: "refused",
      refusal: { class: "retry", code: null, mayBeRunning: true },
    });
  });

  test("does not quote broken JSON", async () => {
    const outcome = await poll(answering('{"responses":[{"secret'));
    expect(JSON.stringify(outcome)).not.toContain("secret");
  });

  test("polls again after a broken stream", async () => {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"responses":'));
        controller.error(new Error("Network connection lost."));
      },
    });
    expect(await poll(answering(stream))).toMatchObject({ refusal: { class: "retry", mayBeRunning: true } });
  });

  test("refuses a stream without bytes, and closes it", async () => {
    let canceled = false;
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue({ not: "bytes" }),
      cancel: () => {
        canceled = true;
      },
    });
    expect(await poll(answering(stream))).toMatchObject({ refusal: { class: "retry" } });
    expect(canceled).toBe(true);
  });

  test("stops reading an answer that is too large, and asks for a smaller job", async () => {
    let sent = 0;
    let canceled = false;
    const chunk = new Uint8Array(1_000_000).fill(0x20);
    const stream = new ReadableStream({
      pull(controller) {
        sent += chunk.byteLength;
        controller.enqueue(chunk);
      },
      cancel: () => {
        canceled = true;
      },
    });
    expect(await poll(answering(stream))).toMatchObject({ refusal: { class: "shrink", mayBeRunning: false } });
    expect(canceled).toBe(true);
    expect(sent).toBeLessThanOrEqual(MAX_ANSWER_BYTES + 3_000_000);
  });

  test("applies a thrown code to the poll, not to the batch", async () => {
    expect(await poll(throwing(new Error("3040: Capacity temporarily exceeded")))).toMatchObject({
      refusal: { class: "retry", code: 3040, mayBeRunning: true },
    });
  });
});
