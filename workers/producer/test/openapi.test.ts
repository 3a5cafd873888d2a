import { env } from "cloudflare:test";
import { openDatabase, claimDueJobs } from "@sluice/db";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { PROBLEMS, type ProblemName } from "../src/http/problems.ts";
import { openApiDocument, problemsOf } from "../src/openapi/document.ts";
import { openRoutes } from "../src/open-routes.ts";
import { routes, type Route } from "../src/routes.ts";
import { problemSchema } from "../src/shapes/answers.ts";
import { parseKeys, scopes } from "../src/http/keys.ts";
import { KEY, NOW, keyRecord, testApi, type TestApi } from "./api.ts";
import { db, failed, post, recorded, scored } from "./stored.ts";

type Init = RequestInit<RequestInitCfProperties>;
interface Provoked {
  readonly path: string;
  readonly init?: Init;
  readonly api?: TestApi;
}

const FRANCE = { query: "capital of France", contexts: ["Paris"], metadata: { a: [1] } };
const UNKNOWN = "01999999-0000-7000-8000-000000000000";
const json = (body: BodyInit, headers: Record<string, string> = {}): Init => ({
  method: "POST",
  body,
  headers: { "content-type": "application/json", ...headers },
});

/** What is there for the requests below to find. */
interface World {
  readonly submission: string;
  readonly job: string;
}
let world: World;
beforeEach(async () => {
  await scored([{ id: "a" }], { label: "l" });
  await failed([{ id: "f" }]);
  const { submission, job } = await recorded([{ id: "p" }]);
  world = { submission, job };
});

/** A request that succeeds, for every route. */
const GOOD: Readonly<Record<string, () => { readonly path: string; readonly init?: Init }>> = {
  pushDocuments: () => ({ path: "/v1/documents", init: post(FRANCE) }),
  listSubmissions: () => ({ path: "/v1/submissions?label=l" }),
  getSubmission: () => ({ path: `/v1/submissions/${world.submission}` }),
  listResults: () => ({ path: `/v1/submissions/${world.submission}/results?include=text,metadata` }),
  cancelSubmission: () => ({ path: `/v1/submissions/${world.submission}/cancel`, init: post() }),
  retrySubmission: () => ({ path: `/v1/submissions/${world.submission}/retry`, init: post() }),
  getDocuments: () => ({ path: "/v1/collections/default/documents?id=a&id=p&id=none" }),
  getDocument: () => ({ path: "/v1/collections/default/documents/a?include=text,metadata" }),
  deleteDocument: () => ({ path: "/v1/collections/default/documents/a", init: { method: "DELETE" } }),
  readFeed: () => ({ path: "/v1/results" }),
  listJobs: () => ({ path: "/v1/jobs" }),
  getJob: () => ({ path: `/v1/jobs/${world.job}` }),
  pause: () => ({ path: "/v1/pause", init: post({ submission: world.submission }) }),
  resume: () => ({ path: "/v1/resume", init: post() }),
  getStats: () => ({ path: "/v1/stats" }),
};

const goodOf = (route: Route) => {
  const good = GOOD[route.id];
  if (good === undefined) throw new Error(`the test has no request for ${route.id}`);
  return good();
};

/** The API over a D1 that fails every call. */
async function failing(message: string): Promise<TestApi> {
  const refuse = () => Promise.reject(new Error(message));
  const statement: object = new Proxy({}, { get: (_, property) => (property === "bind" ? () => statement : refuse) });
  const broken = new Proxy(env.DB, { get: (_, property) => (property === "prepare" ? () => statement : refuse) });
  const patience = { tries: 1, bounded: <T>(call: () => Promise<T>) => call(), rest: async () => undefined };
  return testApi({ db: openDatabase(broken, patience) });
}

const withNothing = (path: string) =>
  path.replace(/(sub|job)_[0-9a-f-]+/, `$1_${UNKNOWN}`).replace("documents/a", "documents/none");
const withoutQuery = (path: string) => path.split("?")[0] ?? path;

/** A request that brings about a problem of a route. */
const PROVOKE: Readonly<Record<ProblemName, (route: Route) => Promise<Provoked>>> = {
  unauthorized: async (route) => {
    const { path, init } = goodOf(route);
    return {
      path,
      init: { ...init, headers: { ...(init?.headers as Record<string, string>), authorization: "Bearer wrong" } },
    };
  },
  forbidden: async (route) => {
    const others = scopes.filter((scope) => scope !== route.scope);
    const keys = parseKeys(JSON.stringify([await keyRecord(KEY, { scopes: others })]));
    return { ...goodOf(route), api: await testApi({ keys }) };
  },
  "too-many-requests": async (route) => ({
    ...goodOf(route),
    api: await testApi({ rateLimiter: { limit: async () => ({ success: false }) } }),
  }),
  invalid: async (route) => {
    const { path, ...rest } = goodOf(route);
    return { ...rest, path: `${withoutQuery(path)}?nonsense=1` };
  },
  unavailable: async (route) => ({ ...goodOf(route), api: await failing("D1_ERROR: Network connection lost.") }),
  internal: async (route) => ({ ...goodOf(route), api: await failing("D1_ERROR: no such table: submissions") }),
  "not-found": async (route) => {
    const { path, init } = goodOf(route);
    if (route.body !== undefined) return { path, init: post({ submission: `sub_${UNKNOWN}` }) };
    return { path: withNothing(path), ...(init !== undefined && { init }) };
  },
  "not-json": async (route) => ({ path: route.path, init: json("{") }),
  "not-utf8": async (route) => ({ path: route.path, init: json(new Uint8Array([0x22, 0xff, 0x22])) }),
  "broken-body": async (route) => ({
    path: route.path,
    init: json(new Uint8Array([1, 2, 3]), { "content-encoding": "gzip" }),
  }),
  "body-too-large": async (route) => ({ path: route.path, init: json(`"${"x".repeat(10_000_000)}"`) }),
  "unsupported-media-type": async (route) => ({ path: route.path, init: json("{}", { "content-type": "text/plain" }) }),
  "empty-body": async (route) => ({ path: route.path, init: json(" ") }),
  "nothing-acceptable": async (route) => ({
    path: route.path,
    init: json("bad", { "content-type": "application/x-ndjson" }),
  }),
  "idempotency-key-reused": async (route) => {
    const api = await testApi();
    await api.fetch(route.path, json(JSON.stringify(FRANCE), { "idempotency-key": "k" }));
    return {
      api,
      path: route.path,
      init: json(JSON.stringify({ ...FRANCE, query: "other" }), { "idempotency-key": "k" }),
    };
  },
  conflict: async (route) => {
    if (route.id === "retrySubmission") {
      await (await testApi()).fetch(`/v1/submissions/${world.submission}/cancel`, post());
      return goodOf(route);
    }
    const queue = { sendBatch: async () => Promise.reject(new Error("gone")) };
    await (
      await testApi({ queues: { interactive: queue, bulk: queue } })
    ).fetch(route.path, json(JSON.stringify(FRANCE), { "idempotency-key": "k" }));
    await env.DB.prepare("UPDATE submissions SET holder = NULL").run();
    return { path: route.path, init: json(JSON.stringify(FRANCE), { "idempotency-key": "k" }) };
  },
  "method-not-allowed": async (route) => ({ path: goodOf(route).path, init: { method: "PATCH" } }),
};

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<
      string,
      { readonly headers?: Readonly<Record<string, unknown>>; readonly content: Readonly<Record<string, unknown>> }
    >
  >;
}

/** What every answer has, or its body brings. */
const USUAL = [
  "content-type",
  "content-length",
  "cache-control",
  "x-content-type-options",
  "referrer-policy",
  "content-security-policy",
];

/** Headers that an answer has and the document does not tell. */
function untold(route: Route, response: Response): string[] {
  const { headers = {} } = told(route.path, route.method)?.responses[String(response.status)] ?? {};
  const known = [...USUAL, ...Object.keys(headers).map((name) => name.toLowerCase())];
  return [...response.headers.keys()].filter((name) => !known.includes(name));
}
const document = openApiDocument() as {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const told = (path: string, method: string) =>
  document.paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];

describe("the OpenAPI document", () => {
  it("has every route, and no other", () => {
    const inDocument = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    const inRoutes = [
      ...routes.map(({ method, path, id }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")} ${id}`),
      ...openRoutes.flatMap((route) => (route.told === null ? [] : [`get ${route.path} ${route.told.id}`])),
    ];
    expect(inDocument.toSorted()).toEqual(inRoutes.toSorted());
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  it("is served without a key, as the page to read it is, and neither needs anything from elsewhere", async () => {
    const api = await testApi();
    const open = { headers: { authorization: "" } };
    expect(await (await api.fetch("/openapi.json", open)).json()).toEqual(JSON.parse(JSON.stringify(document)));
    const page = await api.fetch("/docs", open);
    const html = await page.text();
    expect(page.headers.get("content-security-policy")).toMatch(/default-src 'none'.*connect-src 'self'/);
    const parts = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url ?? "");
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts.filter((url) => url !== "data:,")) {
      expect(part).toMatch(/^\/[^/]/);
      expect((await api.fetch(part, open)).status, part).toBe(200);
    }
  });

  it("leads nowhere that is not in it", () => {
    const text = JSON.stringify(document);
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    const { schemas } = (document as unknown as { components: { schemas: Record<string, unknown> } }).components;
    expect(references.length).toBeGreaterThan(30);
    for (const name of references) expect(Object.keys(schemas)).toContain(name);
    expect(text).not.toMatch(/"\$ref":"(?!#\/components)/);
  });
});

describe.each(routes)("$method $path", (route) => {
  it("answers in the shape that the document gives", async () => {
    const { path, init } = goodOf(route);
    const response = await (await testApi()).fetch(path, init);
    const status = String(route.status ?? 200);
    expect([String(response.status), response.headers.get("content-type")]).toEqual([status, "application/json"]);
    expect(Object.keys(told(route.path, route.method)?.responses ?? {})).toContain(status);
    expect(untold(route, response)).toEqual([]);
    z.parse(route.answer, await response.json());
    if (route.line === undefined) return;
    const lines = await (await testApi()).fetch(path, { headers: { accept: "application/x-ndjson" } });
    const text = new TextDecoder().decode(await lines.arrayBuffer());
    expect(text).not.toBe("");
    expect(untold(route, lines)).toEqual([]);
    for (const line of text.trimEnd().split("\n")) z.parse(route.line, JSON.parse(line));
  });

  it.each([...problemsOf(route), "method-not-allowed" as const])(
    "answers %s as a problem of that name",
    async (name) => {
      const { path, init, api = await testApi() } = await PROVOKE[name](route);
      const response = await api.fetch(path, init);
      const problem = z.parse(problemSchema, await response.json());
      const { status, title } = PROBLEMS[name];
      expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/problem+json"]);
      expect(problem).toMatchObject({ type: `/problems/${name}`, status, title });
      // Whoever shows both shows it once.
      expect(problem.detail).not.toContain(title);
      if (name === "method-not-allowed") return;
      expect(untold(route, response)).toEqual([]);
      expect(told(route.path, route.method)?.responses[String(status)]?.content).toHaveProperty(
        "application/problem+json",
      );
    },
  );
});

it("a repeated push, one that went on and one that is under way say so in headers that are told", async () => {
  const route = routes.find(({ id }) => id === "pushDocuments");
  if (route === undefined) throw new Error("there is no push");
  const send = async (api: TestApi) => api.fetch(route.path, json(JSON.stringify(FRANCE), { "idempotency-key": "k" }));
  const gone = { sendBatch: async () => Promise.reject(new Error("gone")) };
  const broken = await send(await testApi({ queues: { interactive: gone, bulk: gone } }));
  const resumed = await send(await testApi());
  const replayed = await send(await testApi());
  await env.DB.prepare("UPDATE idempotency_keys SET status = NULL, answer = NULL").run();
  await env.DB.prepare("UPDATE submissions SET active_at = ?1").bind(NOW).run();
  const running = await send(await testApi());
  const seen = [broken, resumed, replayed, running].map((one) => [
    one.status,
    [...one.headers.keys()].filter((name) => !USUAL.includes(name)),
  ]);
  expect(seen).toEqual([
    [503, ["retry-after"]],
    [202, ["idempotency-resumed", "location"]],
    [202, ["idempotency-replayed", "location"]],
    [409, ["retry-after"]],
  ]);
  for (const response of [broken, resumed, replayed, running]) expect(untold(route, response)).toEqual([]);
});

it("every problem there is belongs to a route", () => {
  const named = new Set<ProblemName>(["method-not-allowed", ...routes.flatMap(problemsOf)]);
  expect([...named].toSorted()).toEqual((Object.keys(PROBLEMS) as ProblemName[]).toSorted());
});

describe.each(openRoutes.filter((route) => route.told !== null))("GET $path", (route) => {
  it("answers as the document says", async () => {
    const limits = { interactive: 1, bulk: 1, dispatchLeaseUntil: NOW, nextPollAt: NOW };
    await claimDueJobs(db(), limits, NOW, true);
    const response = await (await testApi()).fetch(route.path, { headers: { authorization: "" } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain(route.told?.type);
    if (route.told?.schema != null) z.parse(route.told.schema, await response.json());
  });

  it("takes no other method", async () => {
    const response = await (await testApi()).fetch(route.path, { method: "POST", headers: { authorization: "" } });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });
});

it.each([
  ["unavailable", "D1_ERROR: Network connection lost.", 503],
  ["internal", "D1_ERROR: no such table: heartbeats", 500],
])("/readyz answers %s where D1 fails", async (name, message, status) => {
  const response = await (await failing(message)).fetch("/readyz");
  expect(await response.json()).toMatchObject({ type: `/problems/${name}`, status });
});
