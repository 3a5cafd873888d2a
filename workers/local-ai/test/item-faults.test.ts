import { expect, test } from "vitest";
import { makeRequests, makeStandIn, type Answer, type Item } from "./stand-in.ts";

/** The items of a batch of two with a fault for the second request; the first is unaffected. */
async function strikeSecond(fault: string): Promise<Item[]> {
  const standIn = makeStandIn();
  await standIn.setPlan({ items: [{ fault, match: "number 1" }], poll: [{ fault: "in_order" }] });
  const { responses } = await standIn.poll(await standIn.submit(makeRequests(2)));
  expect(responses[0]).toMatchObject({ id: 0, success: true, external_reference: "sub:0" });
  return responses.slice(1);
}

const firstScores = (item: Item | undefined) => item?.result.response.filter(({ id }) => id === 0);

test("an item can be missing, repeated, or followed by an extra one", async () => {
  expect(await strikeSecond("missing")).toEqual([]);
  const [one, two] = await strikeSecond("duplicated");
  expect(one).toMatchObject({ id: 1 });
  expect(two).toEqual(one);
  expect((await strikeSecond("extra")).map(({ id }) => id)).toEqual([1, 3]);
});

test.each([
  ["failed_text", expect.any(String)],
  ["failed_object", { message: expect.any(String) }],
  ["failed_list", [{ code: 3040, message: expect.any(String) }]],
])("an item can fail: %s", async (fault, error) => {
  const [item] = await strikeSecond(fault);
  expect(item).toEqual({ id: 1, success: false, error, external_reference: "sub:1" });
});

test("an item can carry the reference of another", async () => {
  const [item] = await strikeSecond("mismatched");
  expect(item).toMatchObject({ id: 1, success: true, external_reference: "other:sub:1" });
});

test.each([
  ["score_nan", [{ id: 0, score: Number.NaN }]],
  ["score_null", [{ id: 0, score: null }]],
  ["score_text", [{ id: 0, score: expect.any(String) }]],
  ["score_absent", [{ id: 0 }]],
  ["score_missing", []],
])("an item can lack a number: %s", async (fault, scores) => {
  const [item] = await strikeSecond(fault);
  expect(firstScores(item)).toEqual(scores);
  expect(item?.result.response.filter(({ id }) => id > 0)).toHaveLength(2);
});

test("an item can have no result, or one that is nested deeper", async () => {
  expect((await strikeSecond("no_result"))[0]).toMatchObject({ success: true, result: null });
  expect((await strikeSecond("nested"))[0]).toMatchObject({ result: { result: { response: expect.any(Array) } } });
});

test("a rule with times applies to a query that often", async () => {
  const standIn = makeStandIn();
  await standIn.setPlan({ items: [{ fault: "missing", times: 2 }] });
  const counts: number[] = [];
  for (let i = 0; i < 3; i += 1) {
    const requestId = await standIn.submit(makeRequests(3));
    // The same at every poll of a batch: another poll does not use up a strike.
    await standIn.poll(requestId);
    counts.push((await standIn.poll(requestId)).responses.length);
  }
  expect(counts).toEqual([0, 0, 3]);
});

test("a probability affects some items, the same ones with the same seed", async () => {
  const answered = async (seed: string): Promise<number[]> => {
    const standIn = makeStandIn();
    await standIn.setPlan({ seed, items: [{ fault: "missing", probability: 0.3 }], poll: [{ fault: "in_order" }] });
    const answer: Answer = await standIn.poll(await standIn.submit(makeRequests(100)));
    return answer.responses.map(({ id }) => id);
  };
  const first = await answered("a");
  expect(await answered("a")).toEqual(first);
  expect(await answered("b")).not.toEqual(first);
  expect(first.length).toBeGreaterThan(50);
  expect(first.length).toBeLessThan(90);
});
