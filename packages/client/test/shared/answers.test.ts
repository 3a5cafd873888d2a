import { expect, test } from "vitest";
import type { Fetch, Sluice } from "../../src/index.ts";
import { collectionOf, jobOf, malformedOf, statsOf, submissionOf, documentOf } from "../shapes.ts";
import { clientOf, collect, documents } from "./client.ts";

const AT = "2026-01-01T00:00:00.000Z";
const SENTENCE = "is not the API's. Check the URL, and any proxy in front of the API.";

const full = {
  ...documentOf({ id: "d", query: "q", contexts: ["a"] }, "sub_1", new URLSearchParams()),
  scores: [{ rank: 1, score: 0.5, context_id: "0", context_index: 0, text: "a", text_expired_at: null }],
  error: { code: "model_error", message: "It broke.", retryable: true },
  metadata: { a: [1] },
  waiting: { reason: "answer", until: AT },
  finalized_at: AT,
};
const submission = {
  ...submissionOf("sub_1", [], new URLSearchParams({ label: "l" })),
  failures: { model_error: 1 },
  stalled: { missing: 1, since: AT },
  completed_at: AT,
};
const counts = submission.counts;
const pause = { scope: "all", reason: "requested", message: "m", since: AT, until: AT };
const job = jobOf({
  request_id: "r",
  parent_id: "p",
  merged_into: "m",
  next_poll_at: AT,
  dispatched_at: AT,
  ended_at: AT,
});
const accepted = {
  submission,
  documents: [{ id: "d" }],
  accepted: 1,
  rejected_count: 1,
  rejected: [{ line: 2, detail: "bad" }],
};
const collection = collectionOf("c", { requested_at: AT, through: "sub_1", deleted_documents: 1, completed_at: AT });
const pageOf = (item: unknown) => ({ data: [item], next_cursor: null });

/** Every method, with an answer in which each key is set. */
const methods: Readonly<Record<string, readonly [(client: Sluice) => Promise<unknown>, unknown]>> = {
  push: [(client) => client.push(documents(1)), accepted],
  submission: [(client) => client.submission("s"), submission],
  submissions: [(client) => collect(client.submissions()), { ...pageOf(submission), counts }],
  wait: [(client) => client.wait("s"), { ...submission, status: "completed" }],
  results: [(client) => collect(client.results("s")), pageOf(full)],
  "results, a page": [(client) => client.results("s").page(), pageOf(full)],
  cancel: [(client) => client.cancel("s"), submission],
  retry: [(client) => client.retry("s"), { submission, queued: 1, lost: 0 }],
  document: [(client) => client.document("c", "d"), full],
  documents: [(client) => client.documents("c", ["d", "e"]), { data: [full], missing: ["e"] }],
  deleteDocument: [(client) => client.deleteDocument("c", "d"), { deleted: 1 }],
  collection: [(client) => client.collection("c"), collection],
  deleteCollection: [(client) => client.deleteCollection("c"), collection.deletion],
  feed: [(client) => client.feed()[Symbol.asyncIterator]().next(), { data: [full], next_cursor: "1" }],
  job: [(client) => client.job("j"), job],
  jobs: [(client) => collect(client.jobs()), pageOf(job)],
  pause: [(client) => client.pause(), { data: [pause] }],
  resume: [(client) => client.resume(), { resumed: pause, data: [pause] }],
  malformed: [(client) => collect(client.malformed()), pageOf(malformedOf("msg_a"))],
  replayMalformed: [(client) => client.replayMalformed("msg_a"), { replayed: 1 }],
  discardMalformed: [(client) => client.discardMalformed("msg_a"), undefined],
  stats: [
    (client) => client.stats(),
    { ...statsOf([], "minilm"), pauses: [pause], failures: { refused: 1 }, oldest_waiting_at: AT },
  ],
  metrics: [(client) => client.metrics(), undefined],
  readiness: [(client) => client.readiness(), { status: "ok" }],
  health: [(client) => client.health(), { status: "ok" }],
};
const cases = Object.entries(methods).map(([name, [call, answer]]) => ({ name, call, answer }));
/** The methods whose answer is JSON. */
const withBody = cases.filter(({ answer }) => answer !== undefined);

function answering(answer: unknown) {
  const fetch: Fetch = async () => new Response(JSON.stringify(answer));
  return clientOf({ fetch }, { retries: 0 });
}

test("the cases cover every method of the client", () => {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(answering({}).client));
  expect(names.filter((name) => name !== "constructor").toSorted()).toEqual(
    Object.keys(methods)
      .filter((name) => !name.includes(" "))
      .toSorted(),
  );
});

test.each(cases)("$name: rejects another service's JSON", async ({ call }) => {
  for (const other of [{ message: "hi" }, {}, [], null, "hi", 1, { data: [{ id: 1 }], next_cursor: null }]) {
    const { client, waits } = answering(other);
    await expect(call(client)).rejects.toMatchObject({
      code: "unreadable",
      status: 200,
      title: "Not the API's answer",
      detail: expect.stringContaining(SENTENCE) as string,
    });
    expect(waits).toEqual([]);
  }
});

/** Every location in a value, except keys whose content the API does not define. */
function* locations(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (path.length > 0) yield path;
  if (typeof value !== "object" || value === null || path.at(-1) === "metadata") return;
  for (const [key, inner] of Object.entries(value)) yield* locations(inner, [...path, key]);
}

function replace(value: unknown, path: readonly string[], by: unknown): unknown {
  // structuredClone would keep shared parts shared.
  const copy = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
  let parent = copy;
  for (const key of path.slice(0, -1)) parent = parent[key] as Record<string, unknown>;
  parent[path.at(-1) ?? ""] = by;
  return copy;
}

const WRONG: unknown = { wrong: ["type"] };

test.each(withBody)("$name: names the location of any wrong type", async ({ call, answer }) => {
  const all = [...locations(answer)];
  expect(all.length).toBeGreaterThan(0);
  for (const path of all) {
    // Such an object is valid metadata.
    if (path.at(-1) === "metadata") continue;
    const pointer = `/${path.join("/")}`;
    await expect(call(answering(replace(answer, path, WRONG)).client), pointer).rejects.toMatchObject({
      code: "unreadable",
      detail: expect.stringContaining(`(${pointer}`) as string,
    });
  }
});

test.each(withBody)("$name: accepts fields and names of a newer server", async ({ call, answer }) => {
  const extended = JSON.parse(JSON.stringify(answer), (key, value: unknown) => {
    if (key === "reason" || key === "lane" || key === "code") return "new";
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject && key !== "metadata" && key !== "failures" ? { ...value, new_field: { a: 1 } } : value;
  }) as unknown;
  await expect(call(answering(extended).client)).resolves.toBeDefined();
});

test("metadata must be an object, and a missing key is reported", async () => {
  const client = (answer: unknown) => answering(answer).client;
  await expect(client({ ...full, metadata: [1] }).document("c", "d")).rejects.toThrow("(/metadata must be an object)");
  await expect(client({ message: "hi" }).health()).rejects.toThrow("(/status is missing)");
  expect((await client({ ...full, metadata: null }).document("c", "d")).metadata).toBeNull();
});

test("accepts an empty body with status 204 only", async () => {
  const none = clientOf({ fetch: async () => new Response(null, { status: 204 }) }, { retries: 0 }).client;
  expect(await none.discardMalformed("msg_a")).toBeUndefined();
  await expect(none.stats()).rejects.toMatchObject({ code: "unreadable" });
  const empty = clientOf({ fetch: async () => new Response("") }, { retries: 0 }).client;
  await expect(empty.discardMalformed("msg_a")).rejects.toMatchObject({ code: "unreadable" });
});

test("rejects an empty body with status 200", async () => {
  const { client } = clientOf({ fetch: async () => new Response("") });
  await expect(client.stats()).rejects.toMatchObject({ code: "unreadable" });
});
