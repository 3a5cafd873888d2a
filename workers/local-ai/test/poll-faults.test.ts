import { expect, test } from "vitest";
import { errorOf, makeRequests, makeStandIn, type Answer } from "./stand-in.ts";

/** A stand-in with a plan and one batch. */
async function withBatch(plan: unknown, count = 4) {
  const standIn = makeStandIn();
  await standIn.setPlan(plan);
  const requestId = await standIn.submit(makeRequests(count));
  return { standIn, requestId, poll: (): Promise<unknown> => standIn.poll(requestId) };
}

const answerUnder = async (faults: string[]): Promise<unknown> =>
  (await withBatch({ poll: faults.map((fault) => ({ fault })) })).poll();

test("a poll can fail with an error and then answer", async () => {
  const { poll } = await withBatch({
    poll: [
      { fault: "3008", at: [1] },
      { fault: "network", at: [2] },
    ],
  });
  expect((await errorOf(poll())).message).toMatch(/^3008: /);
  expect((await errorOf(poll())).message).toBe("Network connection lost.");
  expect(await poll()).toHaveProperty("responses");
});

test("a batch can stay pending for a number of its polls", async () => {
  const { standIn, requestId, poll } = await withBatch({ poll: [{ fault: "pending", polls: 2 }] });
  expect(await poll()).toMatchObject({ status: "running", request_id: requestId });
  expect(await poll()).toMatchObject({ status: "running" });
  expect(await poll()).toHaveProperty("responses");
  // A second batch has its own polls.
  expect(await standIn.poll(await standIn.submit(makeRequests(1)))).toMatchObject({ status: "running" });
});

test("one batch can be stuck while another is answered", async () => {
  const { standIn, poll } = await withBatch({ poll: [{ fault: "stuck", batches: [1] }] });
  const other = await standIn.submit(makeRequests(1));
  for (let i = 0; i < 20; i += 1) expect(await poll()).toMatchObject({ status: "running" });
  expect(await standIn.poll(other)).toHaveProperty("responses");
});

test("a batch that is stuck with a probability is stuck at every poll", async () => {
  const standIn = makeStandIn();
  await standIn.setPlan({ seed: "s", poll: [{ fault: "stuck", probability: 0.5 }] });
  const states: string[] = [];
  for (let i = 0; i < 20; i += 1) {
    const requestId = await standIn.submit(makeRequests(1));
    const statuses = new Set<string>();
    for (let j = 0; j < 5; j += 1) statuses.add((await standIn.poll(requestId)).status ?? "answered");
    states.push([...statuses].join());
  }
  expect(new Set(states)).toEqual(new Set(["running", "answered"]));
});

test("a batch can be forgotten or fail as a whole", async () => {
  const forgotten = await withBatch({ poll: [{ fault: "forgotten" }] });
  expect((await errorOf(forgotten.poll())).message).toMatch(/^3042: /);
  const failed = await withBatch({ poll: [{ fault: "failed" }] });
  expect(await failed.poll()).toMatchObject({ status: "failed", request_id: failed.requestId });
});

test("a poll can be unsuccessful, or hang", async () => {
  expect(await answerUnder(["unsuccessful"])).toMatchObject({ success: false, errors: [{ code: 3040 }] });
  const { standIn, poll } = await withBatch({ poll: [{ fault: "hang", hang_ms: 5_000 }] });
  expect((await errorOf(poll())).message).toMatch(/^3007: /);
  expect(standIn.clock.waited).toBe(5_000);
});

test("the answer can have shape B, at the top or under result", async () => {
  const item = { index: expect.any(Number), success: true, result: { response: expect.any(Array) } };
  const shape = { results: Array.from({ length: 4 }, () => expect.objectContaining(item)) };
  expect(await answerUnder(["shape_b"])).toMatchObject(shape);
  expect(await answerUnder(["shape_b_nested"])).toMatchObject({ result: shape });
});

test("the whole answer can be nested, lack its usage, or be a stream", async () => {
  expect(await answerUnder(["nested"])).toMatchObject({ result: { responses: expect.any(Array) } });
  expect(Object.keys((await answerUnder(["no_usage"])) as Answer)).toEqual(["responses"]);
  const text = await new Response((await answerUnder(["stream", "shape_b"])) as ReadableStream).text();
  expect(JSON.parse(text)).toHaveProperty("results");
});

test("references can be null or absent", async () => {
  const nulls = (await answerUnder(["references_null"])) as Answer;
  expect(nulls.responses.map((item) => item.external_reference)).toEqual([null, null, null, null]);
  const absent = (await answerUnder(["references_absent"])) as Answer;
  expect(absent.responses.some((item) => "external_reference" in item)).toBe(false);
});

test("items can come in the order sent, or reversed", async () => {
  const ids = async (fault: string) => ((await answerUnder([fault])) as Answer).responses.map((item) => item.id);
  expect(await ids("in_order")).toEqual([0, 1, 2, 3]);
  expect(await ids("reversed")).toEqual([3, 2, 1, 0]);
});
