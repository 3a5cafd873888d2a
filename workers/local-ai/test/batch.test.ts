import { expect, test } from "vitest";
import { instantScore } from "../src/instant.ts";
import { lexicalScore } from "../src/lexical.ts";
import { errorOf, makeRequests, makeStandIn, MODEL } from "./stand-in.ts";

test("a batch is queued, then running, then answered in shape A without a status", async () => {
  const standIn = makeStandIn({ queuedMs: 100, runningMs: 50 });
  const requests = makeRequests(3);
  const submitted = await standIn.run(MODEL, { requests }, { queueRequest: true });
  expect(submitted).toEqual({ status: "queued", model: MODEL, request_id: expect.any(String) });
  const requestId = (submitted as { request_id: string }).request_id;

  expect(await standIn.poll(requestId)).toEqual({ status: "queued", request_id: requestId, model: MODEL });
  standIn.clock.now += 100;
  expect(await standIn.poll(requestId)).toMatchObject({ status: "running", request_id: requestId });
  standIn.clock.now += 50;
  const answer = await standIn.poll(requestId);
  expect(Object.keys(answer)).toEqual(["responses", "usage"]);
  expect(answer.usage.total_tokens).toBe(answer.usage.prompt_tokens);
  expect(answer.usage.total_tokens).toBeGreaterThan(0);
  expect(answer.responses).toHaveLength(3);
});

test("usage counts the query with each context, like the client's estimate", async () => {
  const standIn = makeStandIn();
  const contexts = Array.from({ length: 100 }, () => ({ text: "c".repeat(40) }));
  const requests = makeRequests(20).map((request) => ({ ...request, query: "q".repeat(400), contexts }));
  const { usage } = await standIn.poll(await standIn.submit(requests));
  expect(usage.total_tokens).toBe(20 * 100 * (100 + 10));
});

test("usage counts Chinese by the character", async () => {
  const standIn = makeStandIn();
  const requests = makeRequests(1).map((request) => ({ ...request, query: "雪崩", contexts: [{ text: "雪" }] }));
  const { usage } = await standIn.poll(await standIn.submit(requests));
  expect(usage.total_tokens).toBe(3);
});

test("every item has the scores of its own request, whatever its position", async () => {
  const standIn = makeStandIn();
  const requests = makeRequests(50);
  const { responses } = await standIn.poll(await standIn.submit(requests));
  expect(responses.map((item) => item.id)).not.toEqual(requests.map((_, index) => index));
  expect(responses.map((item) => item.id).toSorted((a, b) => a - b)).toEqual(requests.map((_, index) => index));
  for (const item of responses) {
    const request = requests[item.id];
    expect(item.external_reference).toBe(request?.external_reference);
    const scores = item.result.response.toSorted((a, b) => a.id - b.id).map(({ score }) => score);
    expect(scores).toEqual(request?.contexts.map(({ text }) => lexicalScore(request.query, text)));
  }
});

test("two requests already come in another order, the same at every poll", async () => {
  const standIn = makeStandIn();
  const requestId = await standIn.submit(makeRequests(2));
  const first = await standIn.poll(requestId);
  expect(first.responses.map((item) => item.id)).toEqual([1, 0]);
  expect(await standIn.poll(requestId)).toEqual(first);
});

test("a batch survives a restart of the stand-in", async () => {
  const requestId = await makeStandIn().submit(makeRequests(4));
  const { responses } = await makeStandIn().poll(requestId);
  expect(responses).toHaveLength(4);
});

test("in mode instant the first poll answers, with scores by index and length", async () => {
  const standIn = makeStandIn({ mode: "instant", queuedMs: 1_000, runningMs: 1_000 });
  const [request] = makeRequests(1);
  const { responses } = await standIn.poll(await standIn.submit([request]));
  const scores = responses[0]?.result.response.toSorted((a, b) => a.id - b.id).map(({ score }) => score);
  expect(scores).toEqual(request?.contexts.map(({ text }, index) => instantScore(index, text.length)));
});

test("a direct call scores at once", async () => {
  const standIn = makeStandIn({ queuedMs: 1_000 });
  const [request] = makeRequests(1);
  const answer = await standIn.run(MODEL, { query: request?.query, contexts: request?.contexts });
  const scores = request?.contexts.map(({ text }, id) => ({ id, score: lexicalScore(request.query, text) }));
  expect(answer).toEqual({ response: scores });
});

test("an unknown request id is not found", async () => {
  const standIn = makeStandIn();
  expect((await errorOf(standIn.poll("nothing"))).message).toMatch(/^3042: /);
  expect((await errorOf(standIn.poll("x".repeat(2_000)))).message).toMatch(/^3042: /);
});

test("a batch is not found under another model", async () => {
  const standIn = makeStandIn();
  const requestId = await standIn.submit(makeRequests(1));
  const batch = await standIn.store.batch(requestId);
  if (batch === null) throw new Error("the batch is not kept");
  await standIn.store.putBatch(requestId, { ...batch, model: "@cf/baai/bge-large-en-v1.5" });
  expect((await errorOf(standIn.poll(requestId))).message).toMatch(/^3042: /);
});

test("an unknown model is refused for submits and polls", async () => {
  const standIn = makeStandIn();
  const requestId = await standIn.submit(makeRequests(1));
  for (const inputs of [{ requests: makeRequests(1) }, { request_id: requestId }]) {
    const error = await errorOf(standIn.run("@cf/nobody/nothing", inputs, { queueRequest: true }));
    expect(error.message).toMatch(/^5007: No such model @cf\/nobody\/nothing/);
  }
});

test("calls and contexts are counted by kind", async () => {
  const standIn = makeStandIn();
  const requestId = await standIn.submit(makeRequests(2));
  await standIn.poll(requestId);
  await errorOf(standIn.poll("nothing"));
  await standIn.run(MODEL, makeRequests(1)[0]);
  expect(standIn.ledger.calls).toEqual({
    submit: { calls: 1, taken: 1, requests: 2, contexts: 6 },
    poll: { calls: 2, answered: 1 },
    direct: { calls: 1, contexts: 3 },
  });
});
