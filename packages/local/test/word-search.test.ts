import { expect, test } from "vitest";
import { wordSearchRanks } from "../src/word-search.ts";

test("ranks the context with the rarer query word first", () => {
  const contexts = ["the bread and the butter", "the cheese and the wine", "the bread and the cheese"];
  expect(wordSearchRanks("the wine", contexts)).toEqual([2, 1, 3]);
});

test("weighs a word more in a short context than in a long one", () => {
  const contexts = ["a long text about many things, and one of them is a lamp on the desk by the door", "a lamp"];
  expect(wordSearchRanks("lamp", contexts)).toEqual([2, 1]);
});

test("weighs each repetition of a word less", () => {
  // One occurrence each of two query words outweighs three of one word, at the same length.
  expect(wordSearchRanks("red lamp", ["lamp lamp lamp x", "red lamp x x", "x x x x"])).toEqual([2, 1, 3]);
});

test("compares whole words without case and punctuation", () => {
  expect(wordSearchRanks("Éclair!", ["eclairs", "an éclairs shop", "ÉCLAIR"])).toEqual([2, 3, 1]);
});

test("keeps the given order without a shared word", () => {
  expect(wordSearchRanks("nothing", ["a", "b", "c"])).toEqual([1, 2, 3]);
  expect(wordSearchRanks("?", ["a", "!"])).toEqual([1, 2]);
  expect(wordSearchRanks("a", [])).toEqual([]);
});
