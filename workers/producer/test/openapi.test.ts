import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { claimAtStart } from "@sluice/pipeline/job/sql/claim-due-jobs.ts";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { claimLimits } from "@sluice/pipeline/test-support/fixtures.ts";
import { PROBLEMS, type ProblemName } from "../src/http/problems.ts";
import { mediaType } from "../src/http/respond.ts";
import { openApiDocument, problemsOf } from "../src/openapi/document.ts";
import { openRoutes } from "../src/open-routes.ts";
import { routes, type Route } from "../src/routes.ts";
import { problemSchema } from "../src/shapes/answers.ts";
import { parseKeys, scopes } from "../src/http/keys.ts";
import {
  DATABASE_FULL,
  provoke,
  successes,
  type Circumstance,
  type Provoked,
  type World,
} from "../test-support/provoke.ts";
import { KEY, NOW, keyRecord, testApi, type TestApi } from "./api.ts";
import { db, failed, recorded, scored } from "./stored.ts";

let world: World;
beforeEach(async () => {
  const { submission, job } = await scored([{ id: "a" }, { id: "b" }], { label: "l" });
  await failed([{ id: "f" }]);
  const { submission: open } = await recorded([{ id: "p" }]);
  world = { submission, job, open };
});

/** The API over a D1 that fails every call. */
async function failing(message: string): Promise<TestApi> {
  const refuse = () => Promise.reject(new Error(message));
  const statement: object = new Proxy({}, { get: (_, property) => (property === "bind" ? () => statement : refuse) });
  const broken = new Proxy(env.DB, { get: (_, property) => (property === "prepare" ? () => statement : refuse) });
  const retryPolicy = { tries: 1, bounded: <T>(call: () => Promise<T>) => call(), rest: async () => undefined };
  return testApi({ db: openDatabase(broken, retryPolicy) });
}

const TRANSIENT = "D1_ERROR: Network connection lost.";
const BROKEN = "D1_ERROR: no such table: submissions";

/** The API in the circumstance of a request. */
async function apiIn(circumstance: Circumstance | undefined, route: Route): Promise<TestApi> {
  switch (circumstance) {
    case undefined:
      return testApi();
    case "scope lacking": {
      const others = scopes.filter((scope) => scope !== route.scope);
      return testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, { scopes: others })])) });
    }
    case "rate used up":
      return testApi({ rateLimiter: { limit: async () => ({ success: false }) } });
    case "database full":
      await env.DB.prepare(DATABASE_FULL).run();
      return testApi();
    case "D1 lost":
      return failing(TRANSIENT);
    case "D1 broken":
      return failing(BROKEN);
  }
}

/** Sends a request with what it needs before. */
async function answerTo(route: Route, { path, before = [], during, ...init }: Provoked): Promise<Response> {
  const usual = await testApi();
  for (const step of before) {
    if ("sql" in step) await env.DB.prepare(step.sql).run();
    else await (await usual.fetch(step.path, step)).arrayBuffer();
  }
  return (await apiIn(during, route)).fetch(path, init);
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<
      string,
      { readonly headers?: Readonly<Record<string, unknown>>; readonly content?: Readonly<Record<string, unknown>> }
    >
  >;
}

/** Headers of every answer, or of its body. */
const USUAL = [
  "content-type",
  "content-length",
  "cache-control",
  "x-content-type-options",
  "referrer-policy",
  "content-security-policy",
];

/** Headers of an answer that the document does not list. */
function untold(route: Route, response: Response): string[] {
  const { headers = {} } = documented(route.path, route.method)?.responses[String(response.status)] ?? {};
  const known = [...USUAL, ...Object.keys(headers).map((name) => name.toLowerCase())];
  return [...response.headers.keys()].filter((name) => !known.includes(name));
}
const document = openApiDocument() as {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const documented = (path: string, method: string) =>
  document.paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];

describe("the OpenAPI document", () => {
  it("has every route and no others", () => {
    const inDocument = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    const inRoutes = [
      ...routes.map(({ method, path, id }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")} ${id}`),
      ...openRoutes.flatMap((route) => (route.operation === null ? [] : [`get ${route.path} ${route.operation.id}`])),
    ];
    expect(inDocument.toSorted()).toEqual(inRoutes.toSorted());
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  it("is served without a key, as is its page, and neither loads anything from other origins", async () => {
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

  it("has only references that resolve", () => {
    const text = JSON.stringify(document);
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    const { schemas } = (document as unknown as { components: { schemas: Record<string, unknown> } }).components;
    expect(references.length).toBeGreaterThan(30);
    for (const name of references) expect(Object.keys(schemas)).toContain(name);
    expect(text).not.toMatch(/"\$ref":"(?!#\/components)/);
  });
});

describe.each(routes)("$method $path", (route) => {
  it("answers in the documented shapes", async () => {
    const status = String(route.status ?? 200);
    const types = new Set<string | null>();
    for (const request of successes(route.id, world)) {
      const response = await answerTo(route, request);
      const header = response.headers.get("content-type");
      const type = header === null ? null : mediaType(header);
      const text = new TextDecoder().decode(await response.arrayBuffer());
      expect(String(response.status), text).toBe(status);
      expect(untold(route, response)).toEqual([]);
      if (route.answer === null) {
        expect([text, type]).toEqual(["", null]);
        continue;
      }
      expect(text).not.toBe("");
      if (route.type !== undefined) z.parse(route.answer, text);
      else if (route.line === undefined || type === "application/json") z.parse(route.answer, JSON.parse(text));
      else for (const line of text.trimEnd().split("\n")) z.parse(route.line, JSON.parse(line));
      types.add(type);
    }
    expect([...types]).toEqual(Object.keys(documented(route.path, route.method)?.responses[status]?.content ?? {}));
  });

  it.each(problemsOf(route))("answers the problem %s", async (name) => {
    for (const request of provoke(name, route.id, world)) {
      const response = await answerTo(route, request);
      const problem = z.parse(problemSchema, await response.json());
      const { status, title } = PROBLEMS[name];
      expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/problem+json"]);
      expect(problem).toMatchObject({ type: `/problems/${name}`, status, title });
      // A client that shows both title and detail must not repeat itself.
      expect(problem.detail).not.toContain(title);
      expect(untold(route, response)).toEqual([]);
      expect(documented(route.path, route.method)?.responses[String(status)]?.content).toHaveProperty(
        "application/problem+json",
      );
    }
  });
});

it("repeated, resumed and running pushes have the documented headers", async () => {
  const route = routes.find(({ id }) => id === "pushDocuments");
  if (route === undefined) throw new Error("there is no push");
  const body = JSON.stringify({ query: "capital of France", contexts: ["Paris"] });
  const headers = { "content-type": "application/json", "idempotency-key": "k" };
  const send = async (api: TestApi) => api.fetch(route.path, { method: "POST", body, headers });
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

it("every problem belongs to a route", () => {
  const named = new Set<ProblemName>(routes.flatMap(problemsOf));
  expect([...named].toSorted()).toEqual((Object.keys(PROBLEMS) as ProblemName[]).toSorted());
});

describe.each(openRoutes.filter((route) => route.operation !== null))("GET $path", (route) => {
  it("answers as documented", async () => {
    await claimAtStart(db(), claimLimits(NOW), NOW, NOW);
    const response = await (await testApi()).fetch(route.path, { headers: { authorization: "" } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain(route.operation?.type);
    if (route.operation?.schema != null) z.parse(route.operation.schema, await response.json());
  });

  it("refuses other methods", async () => {
    const response = await (await testApi()).fetch(route.path, { method: "POST", headers: { authorization: "" } });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });
});

it.each([
  ["unavailable", TRANSIENT, 503],
  ["internal", BROKEN, 500],
])("/readyz answers %s where D1 fails", async (name, message, status) => {
  const response = await (await failing(message)).fetch("/readyz");
  expect(await response.json()).toMatchObject({ type: `/problems/${name}`, status });
});
