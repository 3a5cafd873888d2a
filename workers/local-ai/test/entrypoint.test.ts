import { exports } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { errorOf, makeRequests, MODEL, type Answer } from "./stand-in.ts";

/** The binding as a Worker uses it: the generated type cannot express a promise of `unknown`. */
const ai = exports.WorkersAI as unknown as {
  run(model: string, inputs: unknown, options?: unknown): Promise<unknown>;
};
const ask = (method: string, path: string, body?: string) =>
  exports.default.fetch(`http://local-ai${path}`, { method, ...(body === undefined ? {} : { body }) });
const setPlan = (plan: unknown) => ask("POST", "/plan", JSON.stringify(plan));
const submit = async () =>
  (await ai.run(MODEL, { requests: makeRequests(2) }, { queueRequest: true })) as { request_id: string };

afterEach(async () => {
  await ask("DELETE", "/plan");
});

test("a batch goes through a service binding", async () => {
  const { request_id: requestId } = await submit();
  const answer = (await ai.run(MODEL, { request_id: requestId })) as Answer;
  expect(answer.responses).toHaveLength(2);
});

test("an error keeps its name and message through the binding", async () => {
  await setPlan({ submit: [{ fault: "3040" }] });
  expect(await errorOf(submit())).toMatchObject({
    name: "InferenceUpstreamError",
    message: expect.stringMatching(/^3040: /),
  });
});

test("a stream and NaN pass through the binding", async () => {
  await setPlan({ poll: [{ fault: "stream", at: [1] }], items: [{ fault: "score_nan" }] });
  const { request_id: requestId } = await submit();
  const stream = (await ai.run(MODEL, { request_id: requestId })) as ReadableStream;
  expect(JSON.parse(await new Response(stream).text())).toHaveProperty("responses");
  const answer = (await ai.run(MODEL, { request_id: requestId })) as Answer;
  expect(answer.responses[0]?.result.response.find(({ id }) => id === 0)?.score).toBeNaN();
});

test("a plan is shown, and removing it resets the counts", async () => {
  await setPlan({ seed: 3, submit: [{ fault: "unsuccessful" }], queued_ms: 5 });
  expect(await (await ask("GET", "/plan")).json()).toMatchObject({ seed: 3, queued_ms: 5 });
  expect(await submit()).toMatchObject({ success: false });
  expect(await (await ask("GET", "/calls")).json()).toMatchObject({ submit: { calls: 1, taken: 0 } });
  await ask("DELETE", "/plan");
  await submit();
  expect(await (await ask("GET", "/calls")).json()).toMatchObject({ submit: { calls: 1, taken: 1, requests: 2 } });
});

test("an invalid plan is refused with its location, and the active one stays", async () => {
  await setPlan({ submit: [{ fault: "unsuccessful" }] });
  const wrong = await setPlan({ submit: [{ fault: "nonsense" }], pol: [] });
  expect(wrong.status).toBe(400);
  const { error } = await wrong.json<{ error: string }>();
  expect(error).toContain("submit[0].fault");
  expect(error).toContain('"pol"');
  expect((await ask("POST", "/plan", "{")).status).toBe(400);
  expect(await submit()).toMatchObject({ success: false });
});

test("an unknown control route lists the routes", async () => {
  const response = await ask("GET", "/nothing");
  expect(response.status).toBe(404);
  expect((await response.json<{ error: string }>()).error).toContain("POST /plan");
});
