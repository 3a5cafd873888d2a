import { expect, test } from "vitest";
import { errorOf, makeRequests, makeStandIn, MODEL, type Answer } from "./stand-in.ts";

const bodyOf = ({ body }: RequestInit): string => (typeof body === "string" ? body : "");

/** A fake model process that scores on request, and can forget everything. */
function makeProcess() {
  const known = new Map<string, string>();
  const state = { posts: 0, done: false, down: false, failed: false };
  const scoresOf = (payload: string) =>
    (JSON.parse(payload) as { requests: { contexts: unknown[] }[] }).requests.map(({ contexts }, request) =>
      contexts.map((_, index) => request + index / 10),
    );
  const answer = (path: string, init: RequestInit): Response => {
    if (path === "/score") return Response.json({ scores: scoresOf(bodyOf(init)) });
    if (init.method === "POST") {
      state.posts += 1;
      known.set(path, bodyOf(init));
      return Response.json({}, { status: 202 });
    }
    const payload = known.get(path);
    if (payload === undefined) return Response.json({}, { status: 404 });
    if (state.failed) return Response.json({ state: "failed" });
    return Response.json(
      state.done ? { state: "done", scores: scoresOf(payload) } : { state: "running", done: 1, total: 9 },
    );
  };
  const fetch = (url: string, init: RequestInit): Promise<Response> =>
    state.down ? Promise.reject(new Error("connection refused")) : Promise.resolve(answer(new URL(url).pathname, init));
  return { state, known, fetch };
}

test("a batch runs until the model is done, then gives its scores", async () => {
  const process = makeProcess();
  const standIn = makeStandIn({ mode: "minilm", fetch: process.fetch });
  const requestId = await standIn.submit(makeRequests(2));
  expect(await standIn.poll(requestId)).toMatchObject({ status: "running" });
  process.state.done = true;
  const { responses } = await standIn.poll(requestId);
  const second = responses.find(({ id }) => id === 1)?.result.response.toSorted((a, b) => a.id - b.id);
  expect(second).toEqual([
    { id: 0, score: 1 },
    { id: 1, score: 1.1 },
    { id: 2, score: 1.2 },
  ]);
});

test("a restarted process receives the batch again", async () => {
  const process = makeProcess();
  const standIn = makeStandIn({ mode: "minilm", fetch: process.fetch });
  const requestId = await standIn.submit(makeRequests(2));
  process.known.clear();
  process.state.done = true;
  expect(await standIn.poll(requestId)).toMatchObject({ status: "running" });
  expect(process.state.posts).toBe(2);
  expect((await standIn.poll(requestId)).responses).toHaveLength(2);
});

test("a finished batch is answered without the process, and its texts are deleted", async () => {
  const process = makeProcess();
  const standIn = makeStandIn({ mode: "minilm", fetch: process.fetch });
  const requestId = await standIn.submit(makeRequests(2));
  expect(await standIn.store.payload(requestId)).toContain("apple");
  process.state.done = true;
  const first = await standIn.poll(requestId);
  process.state.down = true;
  expect(await makeStandIn({ mode: "minilm", fetch: process.fetch }).poll(requestId)).toEqual(first);
  expect(await standIn.store.payload(requestId)).toBeNull();
});

test("a batch is accepted while the process is down, and scored when it is back", async () => {
  const process = makeProcess();
  process.state.down = true;
  const standIn = makeStandIn({ mode: "minilm", fetch: process.fetch });
  const requestId = await standIn.submit(makeRequests(1));
  const error = await errorOf(standIn.poll(requestId));
  expect(error.message).toMatch(/^3040: .*no model process answers at MODEL_URL "http:\/\/model"/);
  process.state.down = false;
  process.state.done = true;
  await standIn.poll(requestId);
  expect((await standIn.poll(requestId)).responses).toHaveLength(1);
});

test.each(["lexical", "instant"] as const)(
  "a batch without scores is scored in mode %s after a restart in that mode",
  async (mode) => {
    const process = makeProcess();
    const taken = makeStandIn({ mode: "minilm", fetch: process.fetch });
    const requestId = await taken.submit(makeRequests(2));
    expect(await taken.poll(requestId)).toMatchObject({ status: "running" });

    process.state.down = true;
    const now = makeStandIn({ mode, fetch: process.fetch });
    const answer = await now.poll(requestId);
    const scoresOf = ({ responses }: Answer) =>
      responses
        .map(({ id, result }) => ({ id, scores: result.response.toSorted((a, b) => a.id - b.id) }))
        .toSorted((a, b) => a.id - b.id);
    expect(scoresOf(answer)).toEqual(scoresOf(await now.poll(await now.submit(makeRequests(2)))));
    expect(await now.poll(requestId)).toEqual(answer);
    expect(await now.store.payload(requestId)).toBeNull();
  },
);

test("a batch that the model cannot score fails", async () => {
  const process = makeProcess();
  process.state.failed = true;
  const standIn = makeStandIn({ mode: "minilm", fetch: process.fetch });
  expect(await standIn.poll(await standIn.submit(makeRequests(1)))).toMatchObject({ status: "failed" });
});

test("a direct call waits for the model's scores", async () => {
  const standIn = makeStandIn({ mode: "minilm", fetch: makeProcess().fetch });
  const answer = await standIn.run(MODEL, makeRequests(1)[0]);
  expect(answer).toEqual({ response: [0, 0.1, 0.2].map((score, id) => ({ id, score })) });
});
