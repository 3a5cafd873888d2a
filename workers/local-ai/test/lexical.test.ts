import { expect, test } from "vitest";
import { lexicalScore, lexicalScores } from "../src/lexical.ts";

test("a pair's score does not depend on the other contexts", () => {
  const query = "how to keep bread fresh";
  const texts = ["Keep bread in a linen bag.", "The moon is far away.", "bread bread bread"];
  expect(
    lexicalScores(
      query,
      texts.map((text) => ({ text })),
    ),
  ).toEqual(texts.map((text) => lexicalScore(query, text)));
});

test("a text that shares more of the query's words scores higher", () => {
  const query = "repair a bicycle tyre";
  const close = lexicalScore(query, "You can repair a bicycle tyre at home.");
  const near = lexicalScore(query, "A bicycle needs oil.");
  const far = lexicalScore(query, "Tomatoes like sun.");
  expect(close).toBeGreaterThan(near);
  expect(near).toBeGreaterThan(far);
});

test("case and punctuation do not matter", () => {
  expect(lexicalScore("Straße, ÉTÉ", "straße été")).toBeGreaterThan(0.99);
});

test("scores are between 0 and 1, also for texts without words", () => {
  for (const [query, text] of [
    ["same words", "same words"],
    ["?!", "…"],
    ["a", "?"],
    ["a".repeat(5_000), "a"],
  ] as const) {
    const score = lexicalScore(query, text);
    expect(score).toBeGreaterThanOrEqual(0);
    expect(score).toBeLessThanOrEqual(1);
  }
});

test("texts without a shared word still have different scores", () => {
  const scores = Array.from({ length: 2_000 }, (_, index) => lexicalScore("nothing here", `word${index}`));
  expect(new Set(scores).size).toBe(scores.length);
});
