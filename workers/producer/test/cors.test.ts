import { describe, expect, it } from "vitest";
import { testApi } from "./api.ts";

describe("OPTIONS", () => {
  it("lists the methods of a path, if the key is valid", async () => {
    const api = await testApi();
    const options = await api.fetch("/v1/collections/c/documents/d", { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow"), await options.text()]).toEqual([
      204,
      "GET, DELETE, HEAD, OPTIONS",
      "",
    ]);
    const open = { method: "OPTIONS", headers: { authorization: "" } };
    expect((await api.fetch("/v1/submissions", open)).status).toBe(401);
    expect((await api.fetch("/healthz", open)).status).toBe(204);
  });
});

describe("CORS", () => {
  const asked = (origin: string) => ({ origin, "access-control-request-method": "POST", authorization: "" });
  const shared = (response: Response) => response.headers.get("access-control-allow-origin");
  const origins = { corsOrigins: ["https://a.example", "https://b.example"] };

  it("is off unless origins are configured", async () => {
    const api = await testApi();
    const question = await api.fetch("/v1/documents", { method: "OPTIONS", headers: asked("https://a.example") });
    expect([question.status, shared(question)]).toEqual([401, null]);
    expect(shared(await api.fetch("/healthz", { headers: { origin: "https://a.example" } }))).toBeNull();
  });

  it("answers preflights of configured origins only, without a key", async () => {
    const api = await testApi(origins);
    const question = await api.fetch("/v1/documents", { method: "OPTIONS", headers: asked("https://b.example") });
    expect(question.status).toBe(204);
    expect(shared(question)).toBe("https://b.example");
    expect(question.headers.get("access-control-allow-headers")).toContain("Idempotency-Key");
    expect(question.headers.get("access-control-allow-methods")).toContain("DELETE");
    expect(question.headers.get("access-control-allow-credentials")).toBeNull();
    const other = await api.fetch("/v1/documents", { method: "OPTIONS", headers: asked("https://evil.example") });
    expect([other.status, shared(other)]).toEqual([401, null]);
  });

  it("lets pages of configured origins read answers and problems, and caches vary by origin", async () => {
    const api = await testApi(origins);
    for (const path of ["/v1/submissions", "/nowhere"]) {
      const answer = await api.fetch(path, { headers: { origin: "https://a.example" } });
      expect([shared(answer), answer.headers.get("vary")]).toEqual(["https://a.example", "Origin"]);
    }
    const none = await api.fetch("/v1/submissions", { headers: { origin: "https://evil.example" } });
    expect([shared(none), none.headers.get("vary")]).toEqual([null, "Origin"]);
    const any = await testApi({ corsOrigins: ["*"] });
    expect(shared(await any.fetch("/healthz", { headers: { origin: "https://c.example" } }))).toBe("https://c.example");
  });
});
