import { expect, test } from "vitest";
import type { DocumentIn } from "../../src/index.ts";
import { FakeApi } from "../fake-api.ts";
import { clientOf, documents, slowly, streamOf } from "./client.ts";

const odd: unknown[] = [null, undefined, 0, 5, NaN, false, true, () => {}, Symbol("s"), [], "null"];

test.each([
  ["a list", (all: unknown[]) => all],
  ["an async generator", slowly],
  ["a stream", streamOf],
])("an invalid item of %s is a refused line, not the end", async (_, input) => {
  // A few items are sent whole, many in chunks.
  for (const behind of [1, 250]) {
    const api = new FakeApi();
    const all = [...documents(1), ...odd, ...documents(behind + 1).slice(1)];
    const result = await clientOf(api).client.push(input(all) as Iterable<DocumentIn>);
    expect(result).toMatchObject({ accepted: 1 + behind, rejectedCount: odd.length });
    expect(result.rejected.map(({ line }) => line)).toEqual(odd.map((__, index) => index + 2));
  }
});

test("a hole in a list is a refused line, and an empty string a blank line", async () => {
  const api = new FakeApi();
  const holes: DocumentIn[] = [];
  holes[2] = { query: "q", contexts: ["a"] };
  expect(await clientOf(api).client.push(holes)).toMatchObject({ accepted: 1, rejected: [{ line: 1 }, { line: 2 }] });
  const blank = await clientOf(api).client.push(["", ...documents(1), "", null as never]);
  expect(blank).toMatchObject({ accepted: 1, rejected: [{ line: 4 }] });
});

const bytes = new TextEncoder().encode('{"query":"q","contexts":["a"]}\n');

test.each([
  ["null", null, "a list, anything iterable, a stream, or one document; got null"],
  ["undefined", undefined, "got undefined"],
  ["a number", 5, "got number"],
  ["a text", "{}", "in a list"],
  ["bytes", bytes, "not bytes: use readDocuments(bytes)"],
  ["a buffer", bytes.buffer, "not bytes"],
  ["a blob", new Blob([bytes]), "not bytes"],
  ["a blob's stream", new Blob([bytes]).stream(), "not bytes"],
  ["chunks of a file", slowly([bytes, bytes]), "not bytes"],
  ["a function", () => [], "not a function: call it"],
  ["a promise", Promise.resolve([]), "await it first"],
])("%s instead of documents is a TypeError that says what push needs", async (_, input, words) => {
  const api = new FakeApi();
  const push = clientOf(api).client.push(input as never);
  await expect(push).rejects.toThrow(TypeError);
  await expect(push).rejects.toThrow(words);
  expect(api.received).toEqual([]);
});
