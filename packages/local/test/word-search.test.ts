import { expect, test } from "vitest";
import { wordSearchRanks } from "../src/word-search.ts";

test("the context with the rarer word of the query comes first", () => {
  const contexts = ["the bread and the butter", "the cheese and the wine", "the bread and the cheese"];
  expect(wordSearchRanks("the wine", contexts)).toEqual([2, 1, 3]);
});

test("a word counts for more in a short context than in a long one", () => {
  const contexts = ["a long text about many things, and one of them is a lamp on the desk by the door", "a lamp"];
  expect(wordSearchRanks("lamp", contexts)).toEqual([2, 1]);
});

test("repeating a word helps less each time", () => {
  // Two words of the query once each beat one of them three times, at the same length.
  expect(wordSearchRanks("red lamp", ["lamp lamp lamp x", "red lamp x x", "x x x x"])).toEqual([2, 1, 3]);
});

test("words are compared without case and punctuation, and never as part of another", () => {
  expect(wordSearchRanks("Éclair!", ["eclairs", "an éclairs shop", "ÉCLAIR"])).toEqual([2, 3, 1]);
});

test("without a shared word the ranks follow the order given", () => {
  expect(wordSearchRanks("nothing", ["a", "b", "c"])).toEqual([1, 2, 3]);
  expect(wordSearchRanks("?", ["a", "!"])).toEqual([1, 2]);
  expect(wordSearchRanks("a", [])).toEqual([]);
});
