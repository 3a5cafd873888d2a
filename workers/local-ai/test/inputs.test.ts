import { expect, test } from "vitest";
import { errorOf, makeRequests, makeStandIn, MODEL } from "./stand-in.ts";

const good = { query: "q", contexts: [{ text: "t" }] };
const tooLong = "word ".repeat(9_000);

test.each([
  ["no requests", undefined, "/requests: must be an array"],
  ["an empty list", [], "/requests: must hold at least 1 item"],
  ["a request that is not an object", [good, "text"], "/requests/1: must be an object"],
  ["no query", [good, { contexts: [{ text: "t" }] }], "/requests/1: required properties are missing: query"],
  ["no contexts", [{ query: "q" }], "/requests/0: required properties are missing: contexts"],
  ["an empty query", [{ ...good, query: "" }], "/requests/0/query: must have at least 1 character"],
  ["a query that is not a string", [{ ...good, query: 1 }], "/requests/0/query: must be a string"],
  ["contexts that are not a list", [{ ...good, contexts: {} }], "/requests/0/contexts: must be an array"],
  ["no context", [{ ...good, contexts: [] }], "/requests/0/contexts: must hold at least 1 item"],
  ["a context that is a string", [{ ...good, contexts: ["t"] }], "/requests/0/contexts/0: must be an object"],
  ["an empty text", [{ ...good, contexts: [{ text: "t" }, { text: "" }] }], "/requests/0/contexts/1/text: must have"],
  ["a context without text", [{ ...good, contexts: [{}] }], "/requests/0/contexts/0/text: must be a string"],
  ["a flag that is not a boolean", [{ ...good, truncate_inputs: "yes" }], "/requests/0/truncate_inputs: must be"],
  ["a reference that is not a string", [{ ...good, external_reference: 7 }], "/requests/0/external_reference: must be"],
  ["a query beyond the window", [{ ...good, query: tooLong }], "/requests/0/query: is longer"],
  [
    "a text beyond the window",
    [good, { ...good, contexts: [{ text: tooLong }], truncate_inputs: false }],
    "/requests/1/contexts/0/text: is longer",
  ],
])("%s refuses the whole batch and names the location", async (_, requests, location) => {
  const standIn = makeStandIn();
  const error = await errorOf(standIn.run(MODEL, { requests }, { queueRequest: true }));
  expect(error.message).toMatch(/^5006: /);
  expect(error.message).toContain(location);
  expect(standIn.ledger.calls.submit.taken).toBe(0);
});

test("a text beyond the window is accepted if truncate_inputs is true", async () => {
  const standIn = makeStandIn();
  const requestId = await standIn.submit([{ query: "word", contexts: [{ text: tooLong }], truncate_inputs: true }]);
  expect((await standIn.poll(requestId)).responses).toHaveLength(1);
});

test("a batch without a list of requests or a request id is invalid", async () => {
  const standIn = makeStandIn();
  for (const inputs of [null, "text", {}, { request_id: 7 }, { requests: makeRequests(1) }]) {
    expect((await errorOf(standIn.run(MODEL, inputs))).message).toMatch(/^5006: /);
  }
});

test("a payload of 10,000,000 bytes of JSON or more is refused", async () => {
  const standIn = makeStandIn({ mode: "instant" });
  const payloadOf = (text: string) => [{ query: "é", contexts: [{ text }], truncate_inputs: true }];
  const frame = new TextEncoder().encode(JSON.stringify({ requests: payloadOf("") })).length;
  // Quotes take two bytes in JSON, é two in UTF-8, and one unit in memory each.
  const textOf = (bytes: number) => `${'"é'.repeat(Math.floor(bytes / 4))}${"a".repeat(bytes % 4)}`;
  await standIn.submit(payloadOf(textOf(9_999_999 - frame)));
  const error = await errorOf(standIn.submit(payloadOf(textOf(10_000_000 - frame))));
  expect(error.message).toMatch(/^3006: Request is too large/);
});
