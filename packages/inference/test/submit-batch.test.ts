import { describe, expect, test } from "vitest";
import { CallTimeout, submitBatch } from "../src/index.ts";
import { FakeAiBinding, jsonResponse } from "./fake-ai-binding.ts";
import { answering, MODEL, REQUEST_ID, REQUESTS, streamOf, throwing, unbounded } from "./support.ts";

const submit = (binding: Parameters<typeof submitBatch>[0]) => submitBatch(binding, MODEL, REQUESTS, unbounded);
const queued = { status: "queued", model: MODEL, request_id: REQUEST_ID };

describe("submitting a batch", () => {
  test("sends the requests with queueRequest and returns the request_id", async () => {
    const binding = new FakeAiBinding(() => jsonResponse(queued));
    expect(await submit(binding)).toEqual({ kind: "queued", requestId: REQUEST_ID });
    expect(binding.sent).toEqual([
      {
        model: MODEL,
        inputs: {
          requests: [
            {
              query: "tea",
              contexts: [{ text: "green tea" }, { text: "a lorry" }],
              truncate_inputs: true,
              external_reference: "sub_0190f3c2-0000-7000-8000-000000000001:0",
            },
          ],
        },
        options: { queueRequest: true },
      },
    ]);
  });

  test.each([
    [
      "a stream, because the content type has a charset",
      () => new FakeAiBinding(() => jsonResponse(queued, 200, "application/json; charset=utf-8")),
    ],
    ["a stream in small pieces", () => answering(streamOf(JSON.stringify({ ...queued, note: "é😀" }), 1))],
    ["a Response", () => answering(jsonResponse(queued))],
    ["text", () => answering(JSON.stringify(queued))],
    ["an envelope", () => answering({ result: queued, success: true, errors: [], messages: [] })],
  ])("accepts the answer as %s", async (_form, binding) => {
    expect(await submit(binding())).toEqual({ kind: "queued", requestId: REQUEST_ID });
  });

  test.each([
    ["no request_id", { status: "queued", model: MODEL }],
    ["an empty request_id", { ...queued, request_id: "" }],
    ["a blank request_id", { ...queued, request_id: "  " }],
    ["a request_id that is not a string", { ...queued, request_id: 7 }],
    ["an overlong request_id", { ...queued, request_id: "a".repeat(10_000) }],
    ["null", null],
    ["undefined", undefined],
    ["a list", [queued]],
    ["a number", 7],
    ["text that is not JSON", '{"request_id": "x'],
    ["an empty text", ""],
  ])("treats an answer with %s as unconfirmed: the batch may be running", async (_what, answer) => {
    const outcome = await submit(answering(answer));
    expect(outcome).toMatchObject({ kind: "refused", refusal: { class: "retry", code: null, mayBeRunning: true } });
  });

  test.each([
    ["a time-out", new CallTimeout(60_000)],
    ["a broken connection", new TypeError("Network connection lost.")],
    ["an abort", new DOMException("The operation was aborted", "AbortError")],
    ["an error without a message", new Error("")],
    ["unparsable JSON", new SyntaxError("Unexpected token '<', \"<secret text\" is not valid JSON")],
    ["a thrown string", "boom"],
    ["a thrown undefined", undefined],
    ["a thrown null", null],
  ])("treats %s as unconfirmed: the batch may be running", async (_what, thrown) => {
    const outcome = await submit(throwing(thrown));
    expect(outcome).toMatchObject({ kind: "refused", refusal: { class: "retry", code: null, mayBeRunning: true } });
    if (outcome.kind === "refused") {
      expect(outcome.refusal.message).not.toBe("");
      expect(outcome.refusal.message).not.toContain("secret text");
    }
  });

  test("ignores an id beside success: false or a failed status", async () => {
    const refused = answering({ ...queued, success: false, errors: [{ code: 3040, message: "busy" }] });
    expect(await submit(refused)).toMatchObject({ kind: "refused", refusal: { class: "retry", mayBeRunning: false } });
    expect(await submit(answering({ ...queued, status: "failed" }))).toMatchObject({ kind: "refused" });
  });

  test("treats a synchronous throw of the binding as a refusal", async () => {
    const binding = {
      run: () => {
        throw new Error("3040: Capacity temporarily exceeded");
      },
    };
    expect(await submit(binding)).toMatchObject({ kind: "refused", refusal: { class: "retry", code: 3040 } });
  });
});

describe("through the platform's own binding", () => {
  test.each([
    ["invalid JSON with a 200", new Response("{oops", { headers: { "content-type": "application/json" } })],
    ["a 200 without a body", new Response(null, { status: 200 })],
    ["a 500 without a body", new Response(null, { status: 500 })],
    ["a 500 with JSON of unknown form", jsonResponse({ oops: true }, 500)],
  ])("treats %s as unconfirmed", async (_what, response) => {
    expect(await submit(new FakeAiBinding(() => response))).toMatchObject({
      kind: "refused",
      refusal: { class: "retry", code: null, mayBeRunning: true },
    });
  });

  test("refuses a 200 with success: false, which the binding returns", async () => {
    const binding = new FakeAiBinding(() =>
      jsonResponse({ success: false, errors: [{ code: 10000, message: "Authentication error" }], result: null }),
    );
    expect(await submit(binding)).toEqual({
      kind: "refused",
      refusal: {
        class: "configuration",
        code: 10000,
        message: "Authentication error",
        retryAfterSeconds: null,
        mayBeRunning: false,
      },
    });
  });
});
