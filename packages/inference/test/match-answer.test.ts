import { describe, expect, test } from "vitest";
import { matchAnswer, type AnswerItem } from "../src/index.ts";

const expected = [
  { reference: "s:0", contexts: 2 },
  { reference: "s:1", contexts: 1 },
  { reference: "s:2", contexts: 3 },
];
const scored = (...scores: number[]) => ({ kind: "scored", scores });
const unusable = (code: string, message: string | null = null) => ({ kind: "unusable", code, message });
const pairs = (...scores: unknown[]) => scores.map((score, id) => ({ id, score }));
const good = (id: unknown, ...scores: unknown[]) => ({ id, success: true, result: { response: pairs(...scores) } });

/** The result of one item for a document with two contexts. */
const one = (...items: AnswerItem[]) => matchAnswer(items, expected.slice(0, 1))[0];

describe("the document of an item", () => {
  test("is identified by id or index, in any order", () => {
    const items = [
      good(2, 0.1, 0.2, 0.3),
      { index: "0", success: true, result: { response: pairs(0.4, 0.5) } },
      good("1", 0.6),
    ];
    expect(matchAnswer(items, expected)).toEqual([scored(0.4, 0.5), scored(0.6), scored(0.1, 0.2, 0.3)]);
  });

  test("is identified by the index if the id is not a number", () => {
    expect(one({ ...good("a-uuid", 1, 2), index: 0 })).toEqual(scored(1, 2));
  });

  test("is unknown if id and index differ", () => {
    expect(matchAnswer([{ ...good(0, 1, 2), index: 1 }], expected).map((answer) => answer.kind)).not.toContain(
      "scored",
    );
  });

  test.each([-1, 1, 0.5, "00", "0.0", " 0", "", null, undefined, {}, Number.NaN])(
    "is not identified by id %j",
    (id) => {
      expect(one(good(id, 1, 2))).toEqual(unusable("missing_result"));
    },
  );

  test("a document without an item is missing, whatever the others contain", () => {
    expect(matchAnswer([good(1, 0.6), good(7, 0.6)], expected)).toEqual([
      unusable("missing_result"),
      scored(0.6),
      unusable("missing_result"),
    ]);
  });

  test("the external reference can only rule out an item", () => {
    expect(one({ ...good(0, 1, 2), external_reference: "s:0" })).toEqual(scored(1, 2));
    expect(one({ ...good(0, 1, 2), external_reference: null })).toEqual(scored(1, 2));
    expect(one({ ...good(0, 1, 2), external_reference: "s:1" })).toEqual(unusable("mismatched_result"));
    expect(one({ ...good(0, 1, 2), external_reference: 7 })).toEqual(unusable("mismatched_result"));
    expect(one({ ...good(9, 1, 2), external_reference: "s:0" })).toEqual(unusable("missing_result"));
  });

  test("a mismatched item does not fail the document", () => {
    expect(one({ id: 0, success: false, error: "5006: bad", external_reference: "s:1" })).toEqual(
      unusable("mismatched_result"),
    );
  });
});

describe("two items of one document", () => {
  test("count once if they agree", () => {
    expect(one(good(0, 1, 2), good("0", 1, 2))).toEqual(scored(1, 2));
    expect(one({ id: 0, success: false, error: "x" }, { id: 0, success: false, error: "x" })).toEqual(
      unusable("model_error", "x"),
    );
  });

  test.each([
    ["other scores", good(0, 1, 3)],
    ["a failure", { id: 0, success: false, error: "x" }],
    ["no scores", { id: 0, success: true, result: {} }],
  ])("are invalid if one has %s, in either order", (_what, other) => {
    expect(one(good(0, 1, 2), other)).toEqual(unusable("invalid_result"));
    expect(one(other, good(0, 1, 2))).toEqual(unusable("invalid_result"));
    expect(one(good(0, 1, 2), other, good(0, 1, 2))).toEqual(unusable("invalid_result"));
  });

  test("ignore an item of another document", () => {
    const other = { ...good(0, 8, 9), external_reference: "s:2" };
    expect(one(good(0, 1, 2), other)).toEqual(scored(1, 2));
    expect(one(other, good(0, 1, 2))).toEqual(scored(1, 2));
  });
});

describe("scores", () => {
  const response = (value: unknown) => one({ id: 0, success: true, result: { response: value } });

  test("go to the context that each names, in any order", () => {
    expect(
      response([
        { id: 1, score: 2 },
        { id: "0", score: -1 },
      ]),
    ).toEqual(scored(-1, 2));
  });

  test("are found under further results", () => {
    expect(one({ id: 0, success: true, result: { result: { response: pairs(1, 2) } } })).toEqual(scored(1, 2));
  });

  test("count once if they are repeated", () => {
    expect(response([...pairs(1, 2), { id: 0, score: 1 }])).toEqual(scored(1, 2));
  });

  test.each([
    ["one missing", pairs(1)],
    ["an extra score", pairs(1, 2, 3)],
    [
      "an unknown context",
      [
        { id: 0, score: 1 },
        { id: 5, score: 2 },
      ],
    ],
    [
      "a repeated and a missing score",
      [
        { id: 0, score: 1 },
        { id: 0, score: 1 },
      ],
    ],
    ["two different scores for a context", [...pairs(1, 2), { id: 0, score: 9 }]],
    ["NaN", pairs(1, Number.NaN)],
    ["NaN, then a number", [...pairs(Number.NaN, 2), { id: 0, score: 1 }]],
    ["an infinite number", pairs(1, Number.POSITIVE_INFINITY)],
    ["null", pairs(1, null)],
    ["a number as text", pairs(1, "2")],
    ["no id", [{ score: 1 }, { score: 2 }]],
    [
      "embeddings",
      [
        [0.1, 0.2],
        [0.3, 0.4],
      ],
    ],
    ["numbers alone", [0.1, 0.2]],
    ["text", "0.1"],
    ["an object", { 0: 1, 1: 2 }],
    ["an empty list", []],
  ])("with %s are invalid", (_what, value) => {
    expect(response(value)).toEqual(unusable("invalid_result"));
  });

  test.each([
    ["no result", { id: 0, success: true }],
    ["a null result", { id: 0, success: true, result: null }],
    ["a result without a response", { id: 0, success: true, result: { usage: {} } }],
    ["a null response", { id: 0, success: true, result: { response: null } }],
  ])("are missing if the item has %s", (_what, item) => {
    expect(one(item)).toEqual(unusable("missing_result"));
  });
});

describe("a failed item", () => {
  test.each([
    ["a string", { error: "it broke" }, "model_error", "it broke"],
    ["an object", { error: { message: "it broke" } }, "model_error", "it broke"],
    ["a list", { errors: [{ message: "it broke" }, { message: "again" }] }, "model_error", "it broke"],
    ["a list of strings", { error: ["it broke"] }, "model_error", "it broke"],
    ["a message beside success", { message: "it broke" }, "model_error", "it broke"],
    ["a message in the result", { result: { error: "it broke" } }, "model_error", "it broke"],
    ["nothing", {}, "model_error", null],
    ["a number", { error: 42 }, "model_error", null],
    ["an unknown form", { error: { a: { b: "c" } } }, "model_error", null],
    ["the code of an invalid input", { error: { code: 5006, message: "too odd" } }, "invalid_input", "too odd"],
    ["that code in the text", { error: "5006: too odd" }, "invalid_input", "5006: too odd"],
    ["the code of a long input", { errors: [{ code: 5021, message: "too long" }] }, "invalid_input", "too long"],
    ["the code of a large input", { error: { code: 3006, message: "too large" } }, "too_large", "too large"],
    ["a transient code", { error: { code: 3040, message: "busy" } }, "model_error", "busy"],
  ])("with %s is reported", (_form, error, code, message) => {
    expect(one({ id: 0, success: false, ...error })).toEqual(unusable(code, message));
  });

  test("is recognized by its error if success is absent", () => {
    expect(one({ id: 0, error: "it broke" })).toEqual(unusable("model_error", "it broke"));
  });

  test("has a bounded message", () => {
    const answer = one({ id: 0, success: false, error: "x".repeat(100_000) });
    expect(answer).toMatchObject({ code: "model_error" });
    expect(answer?.kind === "unusable" && answer.message?.length).toBe(500);
  });
});
