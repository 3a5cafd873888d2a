import { expect, test } from "vitest";
import type { Embed } from "../src/model/embedding.ts";
import { Scorer } from "../src/model/scorer.ts";

/** Embeds a text as its length, and records which texts were embedded together. */
function makeEmbed() {
  const calls: string[][] = [];
  const embed: Embed = (texts) => {
    calls.push([...texts]);
    return Promise.resolve(texts.map((text) => Float32Array.of(text.length)));
  };
  return { calls, embed };
}

const request = (query: string, ...texts: string[]) => ({ query, contexts: texts.map((text) => ({ text })) });
const manyTexts = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

test("a score is the dot product of query and context, in order", async () => {
  const scorer = new Scorer(makeEmbed().embed, 10);
  expect(await scorer.score([request("aa", "b", "bbb"), request("a", "bb")])).toEqual([[2, 6], [2]]);
});

test("embeds a repeated text of a batch once", async () => {
  const { calls, embed } = makeEmbed();
  await new Scorer(embed, 10).score([request("same", "same", "other"), request("other", "same")]);
  expect(calls.flat()).toEqual(["same", "other"]);
});

test("a small batch does not wait for a large one", async () => {
  const { calls, embed } = makeEmbed();
  const scorer = new Scorer(embed, 10);
  const big = scorer.score([request("q", ...manyTexts("big", 40))]);
  await scorer.score([request("q", "small")]);
  expect(calls.findIndex((texts) => texts.includes("small"))).toBe(1);
  expect((await big)[0]).toHaveLength(40);
  expect(Math.max(...calls.map((texts) => texts.length))).toBeLessThan(24);
});

test("a batch runs once and ends", async () => {
  const { calls, embed } = makeEmbed();
  const scorer = new Scorer(embed, 10);
  expect(scorer.progress("one")).toBeNull();
  scorer.begin("one", [request("aa", "b")]);
  scorer.begin("one", [request("aa", "b")]);
  expect(scorer.progress("one")).toEqual({ state: "running", done: 0, total: 2 });
  await scorer.score([request("later", "x")]);
  scorer.begin("one", [request("aa", "b")]);
  expect(scorer.progress("one")).toEqual({ state: "done", scores: [[2]] });
  expect(calls.flat()).toEqual(["aa", "b", "later", "x"]);
});

test("forgets the oldest finished batches", async () => {
  const scorer = new Scorer(makeEmbed().embed, 2);
  for (const id of ["one", "two", "three"]) scorer.begin(id, [request("q", id)]);
  await scorer.score([request("q", "last")]);
  expect(scorer.progress("one")).toBeNull();
  expect(scorer.progress("two")).toMatchObject({ state: "done" });
  expect(scorer.progress("three")).toMatchObject({ state: "done" });
});

test("fails a batch that cannot be embedded, and scores the next one", async () => {
  const { embed } = makeEmbed();
  const scorer = new Scorer((texts) => (texts.includes("bad") ? Promise.reject(new Error("no")) : embed(texts)), 10);
  scorer.begin("bad", [request("q", "bad")]);
  expect(await scorer.score([request("aa", "b")])).toEqual([[2]]);
  expect(scorer.progress("bad")).toEqual({ state: "failed" });
});
