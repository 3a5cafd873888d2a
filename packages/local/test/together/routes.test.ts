import { PROBLEMS, type ProblemName } from "@sluice/producer/src/http/problems.ts";
import {
  DATABASE_EMPTY,
  DATABASE_FULL,
  provoke,
  successes,
  type Circumstance,
  type Provoked,
  type Sent,
  type World,
} from "@sluice/producer/test-support/provoke.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fullKey, type Adapt, type ApiKey } from "../../src/configuration.ts";
import { withoutDatabase } from "./broken-database.ts";
import { responsesOf, type ServedDocument, type ServedResponse } from "./served-document.ts";
import { Together } from "./stack.ts";

/*
 * Produces every response in the OpenAPI document, each problem separately, over HTTP with the four real Workers. They
 * serve the document themselves: a response that it lists and no test produces fails.
 */

/** Requests per minute for one key: more than any key here makes, except the one that must reach the limit. */
const RATE = 500;
const SCOPES = ["ingest", "read", "admin"] as const;
const LIMITED = "limited-key-0123456789";
const lacking = (scope: string) => `key-without-${scope}-0123456789`;

const keys: ApiKey[] = [
  fullKey("limited", LIMITED),
  ...SCOPES.map((scope) => ({
    ...fullKey(`without ${scope}`, lacking(scope)),
    scopes: SCOPES.filter((other) => other !== scope),
  })),
];

/** The producer as deployed with a rate limit, and with these additional keys. */
const adapt: Adapt = (worker, configuration) => {
  if (worker !== "producer") return configuration;
  const own = JSON.parse(String(configuration.vars?.["SLUICE_API_KEYS"])) as ApiKey[];
  return {
    ...configuration,
    vars: { ...configuration.vars, SLUICE_API_KEYS: JSON.stringify([...own, ...keys]) },
    ratelimits: [{ name: "RATE_LIMITER", namespace_id: "1001", simple: { limit: RATE, period: 60 } }],
  };
};

// Started before the tests are defined, because the document determines them.
const together = await Together.start(undefined, [], adapt);
afterAll(() => together.stop());

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly headers: readonly string[];
  readonly text: string;
}

async function send({ path, method = "GET", headers = {}, body }: Sent, key = together.key): Promise<Answer> {
  const response = await fetch(together.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...(body !== undefined && { body }),
  });
  return {
    status: response.status,
    type: (response.headers.get("content-type") ?? "").replace(/;.*$/, ""),
    headers: [...response.headers.keys()],
    text: await response.text(),
  };
}

/** Sends with the limited key after its rate is used up. */
async function sendTooMuch(request: Sent): Promise<Answer> {
  const nothing = () => send({ path: "/v1/nothing" }, LIMITED);
  for (;;) {
    while ((await nothing()).status !== 429) await Promise.all(Array.from({ length: 50 }, nothing));
    const answer = await send(request, LIMITED);
    // A new minute may have begun in between.
    if (answer.status === 429) return answer;
  }
}

async function prepare(before: Provoked["before"] = []): Promise<void> {
  for (const step of before) await ("sql" in step ? together.sql(step.sql) : send(step));
}

/** Produces a response. D1 is already in the required state. */
async function answerTo({ scope }: ServedResponse, { before = [], during, ...request }: Provoked): Promise<Answer> {
  await prepare(before);
  if (during === "database full") {
    await together.sql(DATABASE_FULL);
    const answer = await send(request);
    await together.sql(DATABASE_EMPTY);
    return answer;
  }
  if (during === "rate used up") return sendTooMuch(request);
  return during === "scope lacking" ? send(request, lacking(scope ?? "")) : send(request);
}

/** Headers that every answer has, or that HTTP adds. */
const USUAL = [
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "date",
  "vary",
  "cache-control",
  "x-content-type-options",
  "referrer-policy",
  "content-security-policy",
];

const FAILING = "FAILING";

/** The data that the requests find. */
async function makeWorld(): Promise<World> {
  const document = (id: string, query = "capital of France") => ({ id, query, contexts: ["Paris", "Lyon"] });
  await together.plan({ items: [{ fault: "failed_text", match: FAILING }] });
  const submission = await together.push([document("a"), document("b")], { label: "l" });
  const failed = await together.push([document("f", FAILING)]);
  await together.finish(submission);
  expect((await together.finish(failed)).counts.failed).toBe(1);
  const { body } = await together.call("/v1/jobs");
  const [job] = (body as { data: { id: string }[] }).data;
  await together.plan({ queued_ms: 3_600_000 });
  const open = await together.push([document("p")]);
  return { submission, job: job?.id ?? "", open };
}

const world = await makeWorld();
const served = await send({ path: "/openapi.json" });
const responses = responsesOf(JSON.parse(served.text) as ServedDocument);

/** The requests for a response, each with the expected problem, or `null` for success. */
function requestsFor(response: ServedResponse): { problem: string | null; request: Provoked }[] {
  const { operationId, problems, method, path } = response;
  const requests =
    problems.length === 0
      ? successes(operationId, world).map((request) => ({ problem: null, request }))
      : problems.flatMap((problem) => provoke(problem, operationId, world).map((request) => ({ problem, request })));
  const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/?]+")}(\\?|$)`);
  for (const { problem, request } of requests) {
    const ownMethod = (request.method ?? "GET") === method;
    if (!pattern.test(request.path) || ownMethod === (problem === "method-not-allowed"))
      throw new Error(`${request.method ?? "GET"} ${request.path} does not produce ${problem} of ${operationId}`);
  }
  return requests;
}

/** Checks an answer against its description. */
function check(response: ServedResponse, answers: readonly { problem: string | null; answer: Answer }[]): void {
  for (const { problem, answer } of answers) {
    expect(answer.status, answer.text).toBe(response.status);
    const types = Object.keys(response.content);
    // Without a body it has no type.
    expect(types.length === 0 ? [""] : types).toContain(answer.type);
    if (types.length === 0) expect(answer.text).toBe("");
    const schema = response.content[answer.type];
    const isJson = answer.type.endsWith("json");
    const values = answer.type === "application/x-ndjson" ? answer.text.trimEnd().split("\n") : [answer.text];
    for (const value of values) schema?.parse(isJson ? JSON.parse(value) : value);
    expect(answer.headers.filter((name) => !USUAL.includes(name) && !response.headers.includes(name))).toEqual([]);
    if (problem === null) continue;
    const { title, status } = PROBLEMS[problem as ProblemName];
    expect(answer.type).toBe("application/problem+json");
    expect(JSON.parse(answer.text)).toMatchObject({ type: `/problems/${problem}`, title, status });
  }
  // Every described header occurs.
  const given = new Set(answers.map(({ answer }) => answer.type).filter((type) => type !== ""));
  expect(given).toEqual(new Set(Object.keys(response.content)));
  const seen = new Set(answers.flatMap(({ answer }) => answer.headers));
  expect(response.headers.filter((name) => !seen.has(name))).toEqual([]);
}

const named = (responses: readonly ServedResponse[]) =>
  responses.map((response) => {
    const { method, path, status, problems } = response;
    return [[method, path, status, ...problems].join(" "), response] as const;
  });

async function exercise(_: string, response: ServedResponse): Promise<void> {
  const answers = [];
  for (const { problem, request } of requestsFor(response)) {
    answers.push({ problem, answer: await answerTo(response, request) });
  }
  check(response, answers);
}

const needs = (response: ServedResponse, circumstance: Circumstance) =>
  response.problems.length > 0 && requestsFor(response).some(({ request }) => request.during === circumstance);
const lost = responses.filter((response) => needs(response, "D1 lost"));
/** Broken D1 here means missing tables, which readiness reports as 503. The producer's own tests cover its 500. */
const elsewhere = responses.filter(({ operationId, status }) => operationId === "getReadiness" && status === 500);
const broken = responses.filter((response) => needs(response, "D1 broken") && !elsewhere.includes(response));
const problems = responses.filter(
  (response) => response.problems.length > 0 && ![...lost, ...broken, ...elsewhere].includes(response),
);
const good = responses.filter((response) => response.problems.length === 0);

it("the served document lists every problem", () => {
  expect(new Set(responses.flatMap((response) => response.problems))).toEqual(new Set(Object.keys(PROBLEMS)));
  expect([...lost, ...broken, ...elsewhere, ...problems, ...good]).toHaveLength(responses.length);
});

it("its schemas reject values that do not match", async () => {
  const schemas = responses.flatMap(({ operationId, content }) =>
    operationId === "getOpenApi" || operationId === "getDocs" ? [] : Object.values(content),
  );
  expect(schemas.filter((schema) => schema.safeParse({}).success)).toEqual([]);
  const schema = responses.find(({ operationId, status }) => operationId === "getSubmission" && status === 200)
    ?.content["application/json"];
  const { text } = await send({ path: `/v1/submissions/${world.submission}` });
  const submission = JSON.parse(text) as { counts: object };
  const allowed = (one: unknown) => schema?.safeParse(one).success;
  expect(allowed(submission)).toBe(true);
  expect(allowed({ ...submission, unheard: 1 })).toBe(false);
  expect(allowed({ ...submission, status: "odd" })).toBe(false);
  expect(allowed({ ...submission, created_at: "yesterday" })).toBe(false);
  expect(allowed({ ...submission, counts: { ...submission.counts, total: "2" } })).toBe(false);
});

it("readiness is 503 with the names of missing tables", async () => {
  const { status, text } = await withoutDatabase(together, "broken", () => send({ path: "/readyz" }));
  expect([status, (JSON.parse(text) as { detail: string }).detail]).toEqual([
    503,
    expect.stringMatching(/^The database lacks .*\bpauses\b.*\. Apply the migrations/),
  ]);
});

describe("an invalid request", () => {
  it.each(named(problems))("%s", exercise);
});

describe.each([
  { how: "broken", responses: broken },
  { how: "lost", responses: lost },
] as const)("with D1 $how", ({ how, responses }) => {
  const answers = new Map<ServedResponse, { problem: string | null; answer: Answer }[]>();
  // In parallel, because the Workers retry for seconds before they give up on a lost D1.
  beforeAll(async () => {
    const requests = responses.map((response) => ({ response, all: requestsFor(response) }));
    // Create what a request needs before D1 fails.
    for (const { request } of requests.flatMap(({ all }) => all)) await prepare(request.before);
    // These need D1 for their circumstance.
    for (const { response, all } of requests)
      for (const { problem, request } of all.filter(({ request: { during } }) => during === "database full"))
        answers.set(response, [{ problem, answer: await answerTo(response, request) }]);
    await withoutDatabase(together, how, () =>
      Promise.all(
        requests.map(async ({ response, all }) => {
          const given = all
            .filter(({ request: { during } }) => during !== "database full")
            .map(async ({ problem, request }) => ({
              problem,
              answer: await answerTo(response, { ...request, before: [] }),
            }));
          answers.set(response, [...(answers.get(response) ?? []), ...(await Promise.all(given))]);
        }),
      ),
    );
  }, 60_000);
  it.each(named(responses))("%s", (_, response) => {
    check(response, answers.get(response) ?? []);
  });
});

describe("a valid request", () => {
  it.each(named(good))("%s", exercise);
});

it("an unknown path is 404 with a key and 401 without one", async () => {
  expect(JSON.parse((await send({ path: "/v1/nothing" })).text)).toMatchObject({ type: "/problems/not-found" });
  const without = await send({ path: "/v1/nothing", headers: { authorization: "" } });
  expect(JSON.parse(without.text)).toMatchObject({ type: "/problems/unauthorized", status: 401 });
});

describe("/readyz", () => {
  const ready = async () => {
    const { status, text } = await send({ path: "/readyz", headers: { authorization: "" } });
    return [status, JSON.parse(text).detail ?? null];
  };

  it("is unavailable from 5 minutes after the poller's last run until its next", async () => {
    await together.sql("UPDATE heartbeats SET at = at - 360000");
    expect(await ready()).toEqual([503, expect.stringMatching(/^The poller has not run for \d+ minutes\.$/)]);
    await together.poll();
    expect(await ready()).toEqual([200, null]);
  });

  it("is unavailable while a model is stopped for its configuration", async () => {
    await together.sql(
      "INSERT INTO pauses (scope, reason, since) VALUES ('model:@cf/baai/bge-m3', 'configuration', unixepoch() * 1000)",
    );
    expect(await ready()).toEqual([503, expect.stringContaining("Dispatching of model:@cf/baai/bge-m3 is stopped")]);
    const body = JSON.stringify({ model: "@cf/baai/bge-m3" });
    await send({ path: "/v1/resume", method: "POST", body, headers: { "content-type": "application/json" } });
    expect(await ready()).toEqual([200, null]);
  });
});
console.log(
  "PAIRS",
  responses.length,
  responses.reduce((n, r) => n + (r.problems.length || 0), 0),
  good.reduce((n, r) => n + Object.keys(r.content).length, 0),
  new Set(responses.map((r) => r.operationId)).size,
);
