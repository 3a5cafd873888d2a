import { expect, test } from "vitest";
import { wordSearchRanks } from "../src/word-search.ts";
import { bestIndex, metadataOf, readSample, sharesNoWord } from "./everyday.ts";

const sample = readSample();

test("the sample has 40 documents of 5 contexts with ids of their own", () => {
  expect(sample).toHaveLength(40);
  expect(new Set(sample.map(({ id }) => id)).size).toBe(40);
  expect(sample.filter(({ contexts }) => contexts.length !== 5)).toEqual([]);
});

test("every document names its topic and the one context that answers it", () => {
  for (const document of sample) {
    expect(metadataOf(document, "topic"), document.id ?? "").toEqual(expect.any(String));
    expect(bestIndex(document), document.id ?? "").toBeGreaterThanOrEqual(0);
  }
});

test("contexts are unique sentences of 12 to 40 words", () => {
  const contexts = sample.flatMap((document) => document.contexts);
  expect(new Set(contexts).size).toBe(contexts.length);
  expect(contexts.filter((text) => text.split(" ").length < 12 || text.split(" ").length > 40)).toEqual([]);
});

test("some documents have context ids and some use the index", () => {
  const named = sample.filter(({ contextIds }) => contextIds !== null).length;
  expect(named).toBeGreaterThan(10);
  expect(named).toBeLessThan(30);
});

test("in at least 12 documents word search ranks the best context last", () => {
  const hard = sample.filter(sharesNoWord);
  expect(hard.length).toBeGreaterThanOrEqual(12);
  for (const document of hard) {
    const ranks = wordSearchRanks(document.query, document.contexts);
    expect(ranks[bestIndex(document)], document.id ?? "").toBe(5);
  }
});
