import { describe, expect, test } from "vitest";
import { FAILURES_BY_CODE, FAILURES_BY_STATUS, type FailureClass } from "../src/failure-classes.ts";
import { pollBatch, submitBatch, type BatchBinding, type Refusal } from "../src/index.ts";
import { FakeAiBinding, jsonResponse } from "./fake-ai-binding.ts";
import { answering, MODEL, REQUEST_ID, REQUESTS, throwing, unbounded } from "./support.ts";

async function submitRefusal(binding: BatchBinding): Promise<Refusal> {
  const outcome = await submitBatch(binding, MODEL, REQUESTS, unbounded);
  if (outcome.kind !== "refused") throw new Error(`not refused but ${outcome.kind}`);
  return outcome.refusal;
}

async function pollRefusal(binding: BatchBinding): Promise<Refusal> {
  const outcome = await pollBatch(binding, MODEL, REQUEST_ID, unbounded);
  if (outcome.kind !== "refused") throw new Error(`not refused but ${outcome.kind}`);
  return outcome.refusal;
}

type Expected = readonly [onSubmit: FailureClass, mayBeRunning: boolean, onPoll: FailureClass, mayBeAnswered: boolean];

const byCode: readonly (readonly [code: number, ...Expected])[] = [
  [3003, "invalid", false, "invalid", false],
  [3006, "shrink", false, "shrink", false],
  [3007, "retry", true, "retry", true],
  [3008, "retry", true, "retry", true],
  [3023, "configuration", false, "configuration", true],
  [3036, "pause", false, "pause", true],
  [3039, "configuration", false, "configuration", true],
  [3040, "retry", false, "retry", true],
  [3041, "configuration", false, "configuration", true],
  [3042, "configuration", false, "forgotten", false],
  [4006, "pause", false, "pause", true],
  [5004, "invalid", false, "invalid", false],
  [5005, "permanent", false, "permanent", false],
  [5006, "invalid", false, "invalid", false],
  [5007, "configuration", false, "configuration", true],
  [5016, "configuration", false, "configuration", true],
  [5018, "configuration", false, "configuration", true],
  [5019, "configuration", false, "configuration", true],
  [5021, "invalid", false, "invalid", false],
  [5035, "configuration", false, "configuration", true],
  [10000, "configuration", false, "configuration", true],
];

const byStatus: readonly (readonly [status: number, ...Expected])[] = [
  [401, "configuration", false, "configuration", true],
  [403, "configuration", false, "configuration", true],
  [404, "configuration", false, "forgotten", false],
  [408, "retry", true, "retry", true],
  [410, "configuration", false, "forgotten", false],
  [413, "shrink", false, "shrink", false],
  [429, "retry", false, "retry", true],
  [500, "retry", true, "retry", true],
  [502, "retry", true, "retry", true],
  [503, "retry", true, "retry", true],
  [529, "retry", true, "retry", true],
  [400, "retry", true, "retry", true],
];

describe("codes of Workers AI", () => {
  test("covers every code of the table", () => {
    expect(byCode.map(([code]) => code)).toEqual([...FAILURES_BY_CODE.keys()]);
  });

  test.each(byCode)("classifies %i as %s on submit (may be running: %s), %s on poll", async (code, ...expected) => {
    const [onSubmit, mayBeRunning, onPoll, mayBeAnswered] = expected;
    const forms = [
      () => throwing(new Error(`${code}: a service message`)),
      () => throwing(new Error(`InferenceUpstreamError: AiError: ${code}: a service message`)),
      () => throwing(new Error(JSON.stringify({ error: { code: String(code), message: "a service message" } }))),
      () => answering({ success: false, errors: [{ code, message: "a service message" }], result: null, messages: [] }),
      () => new FakeAiBinding(() => jsonResponse({ internalCode: code, description: "a service message" }, 400)),
      () => new FakeAiBinding(() => jsonResponse({ errors: [{ code, message: "a service message" }] }, 500)),
      () => answering(jsonResponse({ errors: [{ code, message: "a service message" }] }, 400)),
    ];
    for (const form of forms) {
      const submitted = await submitRefusal(form());
      expect(submitted).toMatchObject({ class: onSubmit, code, mayBeRunning });
      expect(submitted.message).toContain("a service message");
      expect(await pollRefusal(form())).toMatchObject({ class: onPoll, code, mayBeRunning: mayBeAnswered });
    }
  });

  test.each(byCode)("explains %i without a message", async (code) => {
    const binding = new FakeAiBinding(() => jsonResponse({ internalCode: code }, 400));
    const { message } = await submitRefusal(binding);
    expect(message).not.toContain("undefined");
    expect(message.length).toBeGreaterThan(10);
  });

  test.each([9999, 8005, 1101])("retries unknown %i, which may be running", async (code) => {
    const binding = throwing(new Error(`${code}: what is this`));
    expect(await submitRefusal(binding)).toMatchObject({ class: "retry", code, mayBeRunning: true });
    expect(await pollRefusal(binding)).toMatchObject({ class: "retry", code, mayBeRunning: true });
  });
});

describe("HTTP statuses without a code", () => {
  test("covers every status of the table", () => {
    const listed = byStatus.map(([status]) => status);
    expect(listed).toEqual(expect.arrayContaining([...FAILURES_BY_STATUS.keys()]));
  });

  test.each(byStatus)("classifies %i as %s on submit (may be running: %s), %s on poll", async (status, ...expected) => {
    const [onSubmit, mayBeRunning, onPoll, mayBeAnswered] = expected;
    const forms = [
      () => answering(new Response("no", { status })),
      () => answering(jsonResponse({ message: "no" }, status)),
      () => throwing(Object.assign(new Error("no"), { status })),
      () => throwing(new Error(`${status}: no`)),
    ];
    for (const form of forms) {
      expect(await submitRefusal(form())).toMatchObject({ class: onSubmit, code: null, mayBeRunning });
      expect(await pollRefusal(form())).toMatchObject({ class: onPoll, code: null, mayBeRunning: mayBeAnswered });
    }
  });

  test("prefers a code to the HTTP status", async () => {
    const body = { errors: [{ code: 3036, message: "used up" }] };
    expect(await submitRefusal(answering(jsonResponse(body, 429)))).toMatchObject({ class: "pause" });
  });
});

describe("intermediate pages and plain text", () => {
  const page = (title: string) => `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body>…</body></html>`;

  test.each([
    ["413 Request Entity Too Large", "shrink", "shrink"],
    ["429 Too Many Requests", "retry", "retry"],
    ["502 Bad Gateway", "retry", "retry"],
    // Says nothing about the account or the batch.
    ["403 Forbidden", "retry", "retry"],
    ["404 Not Found", "retry", "retry"],
    ["", "retry", "retry"],
  ] as const)("classifies a page titled %j as %s", async (title, onSubmit, onPoll) => {
    const status = Number(title.slice(0, 3)) || 500;
    const forms = [
      () => throwing(new Error(page(title))),
      () => new FakeAiBinding(() => new Response(page(title), { status })),
      () => answering(new Response(page(title), { status })),
    ];
    for (const form of forms) {
      const refusal = await submitRefusal(form());
      expect(refusal.class).toBe(onSubmit);
      expect(refusal.message).not.toContain("<");
      expect((await pollRefusal(form())).class).toBe(onPoll);
    }
  });

  test("reads a status from the edge's plain text", async () => {
    expect(await submitRefusal(throwing(new Error("error code: 413")))).toMatchObject({ class: "shrink" });
    expect(await submitRefusal(throwing(new Error("error code: 502")))).toMatchObject({ class: "retry", code: null });
  });
});

describe("messages without a code", () => {
  test("treat a used-up daily allowance as a pause", async () => {
    const words = "you have used up your daily free allocation of 10,000 neurons";
    expect(await submitRefusal(throwing(new Error(words)))).toMatchObject({ class: "pause", mayBeRunning: false });
    expect(await submitRefusal(answering(new Response(words, { status: 429 })))).toMatchObject({ class: "pause" });
  });

  test.each(["request_id not found", "5004: Invalid data: unknown request_id abc", "Request ID abc has expired"])(
    "treat a batch as forgotten after a poll answered %j, but not a submit",
    async (words) => {
      expect(await pollRefusal(throwing(new Error(words)))).toMatchObject({ class: "forgotten", mayBeRunning: false });
      expect((await submitRefusal(throwing(new Error(words)))).class).not.toBe("forgotten");
    },
  );
});

describe("retry hints", () => {
  test.each([
    [throwing(new Error("3040: Capacity temporarily exceeded, try again in 1.5 minutes")), 90],
    [throwing(new Error("3040: Busy, retry after 12")), 12],
    [throwing(new Error("3040: Busy, please try again in 500ms")), 1],
    [throwing(Object.assign(new Error("3040: Busy"), { retryAfter: 7 })), 7],
    [throwing(new Error(JSON.stringify({ errors: [{ code: 3040, message: "Busy", retry_after: 9 }] }))), 9],
    [throwing(new Error("3040: Busy, try again in 9000 hours")), 86_400],
    [throwing(new Error("3040: Capacity temporarily exceeded, please try again.")), null],
  ])("are read from message %#", async (binding, seconds) => {
    expect(await submitRefusal(binding)).toMatchObject({ class: "retry", code: 3040, retryAfterSeconds: seconds });
  });

  test("are read from the header, in seconds", async () => {
    const busy = (value: string) => answering(new Response("busy", { status: 429, headers: { "retry-after": value } }));
    expect(await submitRefusal(busy("30"))).toMatchObject({ class: "retry", retryAfterSeconds: 30 });
    expect(await submitRefusal(busy("Sat, 29 Nov 2026 18:00:00 GMT"))).toMatchObject({ retryAfterSeconds: null });
  });
});

describe("messages", () => {
  test("are one line of at most 500 characters that D1 stores exactly", async () => {
    const { message } = await submitRefusal(throwing(new Error(`3040: a\0b\n\tc ${"😀".repeat(400)}`)));
    expect(message.startsWith("3040: a b c 😀")).toBe(true);
    expect(message.length).toBeLessThanOrEqual(500);
    expect(message.endsWith("…")).toBe(true);
    expect(message.isWellFormed()).toBe(true);
    // The last character is complete or absent.
    expect(message).not.toContain("\ufffd");
  });
});
