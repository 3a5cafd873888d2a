import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { contextOf } from "../src/env.ts";
import { findKey, parseKeys } from "../src/http/keys.ts";
import { KEY, keyRecord, pushJson, storedRows, testApi, type ProblemBody } from "./api.ts";

const GOOD = { query: "q", contexts: ["c"] };

describe("a request without a valid key", () => {
  it("gets 404 for a path outside the API", async () => {
    const response = await (await testApi()).fetch("/nowhere", { headers: { authorization: "" } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ type: "/problems/not-found" });
  });

  const headers = [
    ["no header", undefined],
    ["a wrong key", "Bearer not-the-key"],
    ["an empty key", "Bearer "],
    ["another scheme", `Basic ${KEY}`],
    ["the bare key", KEY],
    ["two keys", `Bearer ${KEY} ${KEY}`],
  ] as const;
  it.each(headers)("is refused with 401 on every route: %s", async (_, authorization) => {
    const api = await testApi();
    for (const [method, path] of [
      ["POST", "/v1/documents"],
      ["GET", "/v1/submissions"],
      ["GET", "/v1/nowhere"],
    ] as const) {
      const response = await api.fetch(path, {
        method,
        headers: { authorization: authorization ?? "", "content-type": "application/json" },
        ...(method === "POST" && { body: JSON.stringify(GOOD) }),
      });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(await response.json()).toMatchObject({ type: "/problems/unauthorized", status: 401, errors: [] });
    }
    expect(await storedRows()).toBe(0);
    expect(api.calls).toEqual([]);
  });
});

describe("API keys", () => {
  it.each([undefined, "", "not json", "[]", "{}", '[{"name":"a"}]', '[{"name":"a","sha256":"00","scopes":["read"]}]'])(
    "given as %j refuse every request, and the answer and the log say why",
    async (text) => {
      const api = await testApi({ keys: parseKeys(text) });
      const response = await api.fetch("/v1/submissions");
      expect(response.status).toBe(401);
      expect(((await response.json()) as ProblemBody).detail).toContain("SLUICE_API_KEYS");
      expect(api.logs).toMatchObject([{ event: "no_api_keys" }]);
    },
  );

  it("are found among several, also in upper-case hex and with another case of the scheme", async () => {
    const [first, second] = [await keyRecord("one", { name: "first" }), await keyRecord("two", { name: "second" })];
    const keys = parseKeys(JSON.stringify([first, { ...second, sha256: second.sha256.toUpperCase() }]));
    expect((await findKey(keys, "bearer two"))?.name).toBe("second");
    expect((await findKey(keys, "Bearer one"))?.name).toBe("first");
    expect(await findKey(keys, "Bearer onetwo")).toBeNull();
    expect(await findKey(keys, null)).toBeNull();
  });

  it("without the scope are refused with 403 that names it", async () => {
    const reader = await testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, { scopes: ["read"] })])) });
    const push = await pushJson(reader, GOOD);
    expect(push.status).toBe(403);
    expect(((await push.json()) as ProblemBody).detail).toContain('"ingest"');
    const writer = await testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, { scopes: ["ingest"] })])) });
    expect((await writer.fetch("/v1/submissions")).status).toBe(403);
    expect((await pushJson(writer, GOOD)).status).toBe(202);
  });

  it("that are limited to collections push to those and see no others", async () => {
    const everyone = await testApi();
    const mine = {
      ...(await testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, { collections: ["mine"] })])) })),
    };
    const other = (await (await pushJson(everyone, GOOD, "?collection=other")).json()) as {
      submission: { id: string };
    };
    const own = (await (await pushJson(mine, GOOD, "?collection=mine")).json()) as { submission: { id: string } };

    expect((await mine.fetch(`/v1/submissions/${own.submission.id}`)).status).toBe(200);
    expect((await mine.fetch(`/v1/submissions/${other.submission.id}`)).status).toBe(404);
    expect((await mine.fetch(`/v1/submissions/${other.submission.id}/results`)).status).toBe(404);
    expect((await mine.fetch("/v1/collections/other/documents/a")).status).toBe(404);
    const list = (await (await mine.fetch("/v1/submissions")).json()) as { data: { id: string }[] };
    expect(list.data.map((one) => one.id)).toEqual([own.submission.id]);

    const refused = await pushJson(mine, GOOD, "?collection=other");
    expect([refused.status, ((await refused.json()) as ProblemBody).detail]).toEqual([
      403,
      expect.stringContaining('"other"'),
    ]);
    expect(mine.calls).toHaveLength(1);
  });
});

describe("a path", () => {
  it("/healthz is open", async () => {
    const api = await testApi({ keys: [] });
    const response = await api.fetch("/healthz", { headers: { authorization: "" } });
    expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
  });

  it("that is unknown is 404 with a key", async () => {
    const api = await testApi();
    for (const path of ["/", "/v1", "/v1/nothing", "/v1/documents/", "/v1/collections/c/documents/"]) {
      const response = await api.fetch(path);
      expect([response.status, ((await response.json()) as ProblemBody).type]).toEqual([404, "/problems/not-found"]);
    }
  });

  it("with another method is 405 and lists the allowed ones", async () => {
    const api = await testApi();
    const push = await api.fetch("/v1/documents");
    expect([push.status, push.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    const list = await api.fetch("/v1/submissions", { method: "DELETE" });
    expect([list.status, list.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect((await api.fetch("/healthz", { method: "POST" })).status).toBe(405);
    expect((await api.fetch("/v1/submissions", { method: "HEAD" })).status).toBe(200);
  });
});

it("every answer forbids sniffing, storing, framing and referrers", async () => {
  const api = await testApi();
  for (const path of ["/healthz", "/v1/submissions", "/nowhere"]) {
    const { headers } = await api.fetch(path);
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
    expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  }
});

describe("the rate limit", () => {
  it("counts per API key, and asks keys over the limit to wait", async () => {
    const counted: string[] = [];
    const rateLimiter = {
      limit: async ({ key }: { key: string }) => {
        counted.push(key);
        return { success: counted.length < 2 };
      },
    };
    const api = await testApi({ rateLimiter });
    expect((await api.fetch("/v1/submissions")).status).toBe(200);
    const over = await api.fetch("/v1/submissions");
    expect([over.status, over.headers.get("retry-after")]).toEqual([429, "10"]);
    // Requests with a wrong key and health checks are not counted.
    expect((await api.fetch("/v1/submissions", { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
    expect((await api.fetch("/healthz")).status).toBe(200);
    expect(counted).toEqual(["test", "test"]);
  });
});

describe("an exception", () => {
  const failing = async (message: string) => {
    const db = new Proxy({} as Awaited<ReturnType<typeof testApi>>["context"]["db"], {
      get() {
        throw new Error(message, { cause: new Error(`SELECT secret: ${message}`) });
      },
    });
    const api = await testApi({ db });
    const response = await api.fetch("/v1/submissions");
    return { api, response, problem: (await response.json()) as ProblemBody };
  };

  it("is answered 500 with an id that is in the log; neither contains its message", async () => {
    const { api, response, problem } = await failing("a secret parameter");
    expect([response.status, problem.type]).toEqual([500, "/problems/internal"]);
    expect(api.logs).toMatchObject([{ event: "unexpected_error", request_id: problem.request_id, error: "Error" }]);
    expect(JSON.stringify([problem, api.logs])).not.toContain("secret");
  });

  it("about an unavailable D1 is answered 503 with Retry-After", async () => {
    const { response, problem } = await failing("D1_ERROR: Network connection lost.");
    expect([response.status, problem.type, response.headers.get("retry-after")]).toEqual([
      503,
      "/problems/unavailable",
      "10",
    ]);
  });
});

it("the API's context is built from the Worker's bindings", async () => {
  const secrets = {
    SLUICE_API_KEYS: JSON.stringify([await keyRecord(KEY)]),
    SLUICE_CORS_ORIGINS: "https://a.example, https://b.example",
  };
  const made = contextOf({ ...env, ...secrets });
  const response = await (await testApi(made)).fetch("/v1/submissions?limit=1");
  expect(await response.json()).toEqual({ data: [], next_cursor: null });
  expect(made.random(10)).toHaveLength(10);
  expect([made.corsOrigins, made.rateLimiter]).toEqual([["https://a.example", "https://b.example"], null]);
  expect(made.docsAssets.script).toContain("SwaggerUIBundle");
  expect(made.docsAssets.style).toContain(".swagger-ui");
});
