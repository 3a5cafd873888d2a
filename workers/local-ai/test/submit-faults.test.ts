import { expect, test } from "vitest";
import { codelessErrors, serviceCodes } from "../src/errors.ts";
import { errorOf, makeRequests, makeStandIn, MODEL, type Answer } from "./stand-in.ts";

const taken = (standIn: ReturnType<typeof makeStandIn>) => standIn.ledger.calls.submit.taken;

test.each(serviceCodes)("a submit can fail with %s, and nothing is accepted", async (code) => {
  const standIn = makeStandIn();
  await standIn.setPlan({ submit: [{ fault: code, at: [1] }] });
  const error = await errorOf(standIn.submit(makeRequests(2)));
  expect(error.name).toBe("InferenceUpstreamError");
  expect(error.message).toMatch(new RegExp(`^${code}: .+`));
  expect(taken(standIn)).toBe(0);
  await standIn.submit(makeRequests(2));
  expect(taken(standIn)).toBe(1);
});

test("a submit can fail without a code", async () => {
  const found: Record<string, string> = {};
  for (const fault of codelessErrors) {
    const standIn = makeStandIn();
    await standIn.setPlan({ submit: [{ fault }] });
    const { name, message } = await errorOf(standIn.submit(makeRequests(1)));
    found[fault] = `${name}: ${message.slice(0, 15)}`;
  }
  expect(found).toEqual({
    html: "InferenceUpstreamError: <!DOCTYPE html>",
    empty: "InferenceUpstreamError: ",
    network: "Error: Network connect",
    syntax: "SyntaxError: Unexpected end ",
    aborted: "AbortError: The operation w",
  });
});

test("a submit can be unsuccessful without an error thrown", async () => {
  const standIn = makeStandIn();
  await standIn.setPlan({ submit: [{ fault: "unsuccessful" }] });
  const answer = await standIn.run(MODEL, { requests: makeRequests(1) }, { queueRequest: true });
  expect(answer).toMatchObject({ success: false, errors: [{ code: 3040, message: expect.any(String) }] });
  expect(taken(standIn)).toBe(0);
});

test("a batch whose answer is lost is accepted and can be polled", async () => {
  const standIn = makeStandIn();
  const ids: string[] = [];
  const put = standIn.store.putBatch.bind(standIn.store);
  standIn.store.putBatch = (id, batch) => {
    ids.push(id);
    return put(id, batch);
  };
  await standIn.setPlan({ submit: [{ fault: "answer_lost" }] });
  expect((await errorOf(standIn.submit(makeRequests(3)))).message).toBe("Network connection lost.");
  expect(taken(standIn)).toBe(1);
  expect((await standIn.poll(ids[0] ?? "")).responses).toHaveLength(3);
});

test("an answer can lack its request id, or be a stream", async () => {
  const standIn = makeStandIn();
  await standIn.setPlan({
    submit: [
      { fault: "no_request_id", at: [1] },
      { fault: "stream", at: [2] },
    ],
  });
  const submit = () => standIn.run(MODEL, { requests: makeRequests(1) }, { queueRequest: true });
  expect(await submit()).toEqual({ status: "queued", model: MODEL });
  const text = await new Response((await submit()) as ReadableStream).text();
  expect(JSON.parse(text)).toMatchObject({ status: "queued", request_id: expect.any(String) });
});

test("a submit can hang as long as the plan says", async () => {
  const standIn = makeStandIn();
  await standIn.setPlan({ submit: [{ fault: "hang", hang_ms: 90_000 }] });
  expect((await errorOf(standIn.submit(makeRequests(1)))).message).toMatch(/^3007: /);
  expect(standIn.clock.waited).toBe(90_000);
  expect(taken(standIn)).toBe(0);
});

test("poison in one request refuses its batch and no other", async () => {
  const standIn = makeStandIn();
  await standIn.setPlan({ submit: [{ fault: "5006", match: "POISON" }] });
  const requests = makeRequests(3);
  const poisoned = { query: "q", contexts: [{ text: "fine" }, { text: "some POISON here" }] };
  expect((await errorOf(standIn.submit([...requests, poisoned]))).message).toMatch(/^5006: /);
  expect((await errorOf(standIn.submit([{ ...poisoned, query: "POISON" }]))).message).toMatch(/^5006: /);
  const answer: Answer = await standIn.poll(await standIn.submit(requests));
  expect(answer.responses).toHaveLength(3);
});

test("a limit on the number of requests can be set", async () => {
  const standIn = makeStandIn();
  await standIn.setPlan({ submit: [{ fault: "3006", over_requests: 2 }] });
  expect((await errorOf(standIn.submit(makeRequests(3)))).message).toMatch(/^3006: /);
  await standIn.submit(makeRequests(2));
});

test("faults repeat with the same seed and differ with another", async () => {
  const outcomes = async (seed: number) => {
    const standIn = makeStandIn();
    await standIn.setPlan({ seed, submit: [{ fault: "3040", probability: 0.5 }] });
    const list: boolean[] = [];
    for (let i = 0; i < 40; i += 1)
      list.push(
        await standIn.submit(makeRequests(1)).then(
          () => true,
          () => false,
        ),
      );
    return list;
  };
  const first = await outcomes(1);
  expect(await outcomes(1)).toEqual(first);
  expect(await outcomes(2)).not.toEqual(first);
  expect(first.filter(Boolean).length).toBeGreaterThan(8);
  expect(first.filter(Boolean).length).toBeLessThan(32);
});
