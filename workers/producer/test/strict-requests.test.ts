import { describe, expect, it } from "vitest";
import { createApp } from "../src/app.ts";
import { routes, type Route } from "../src/routes.ts";
import { KEY, testApi, type ProblemBody } from "./api.ts";
import { ask, failed, ids, post, refused } from "./stored.ts";

const bodiless = routes.filter((route) => route.body === undefined);

/** A request as it arrives: unlike one made in JavaScript, a GET may have a body. */
async function withBody({ method, path }: Route, body: ReadableStream<Uint8Array>): Promise<Response> {
  const request = new Request(`https://sluice.test${path.replaceAll(/:\w+/g, "x")}`, {
    method,
    headers: { authorization: `Bearer ${KEY}` },
  });
  Object.defineProperty(request, "body", { value: body });
  return createApp().fetch(request, (await testApi()).context);
}

const streamOf = (...pieces: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });

describe("a request to a route that takes no body", () => {
  it("is any but push, pause and resume", () => {
    const others = routes.filter((route) => !bodiless.includes(route)).map((route) => route.id);
    expect(others).toEqual(["pushDocuments", "pause", "resume"]);
  });

  it.each(bodiless)("is refused with a body, and the answer says where options go: $method $path", async (route) => {
    const response = await withBody(route, streamOf("", '{"code":', '"model_error"}'));
    const { type, detail, errors } = (await response.json()) as ProblemBody;
    expect([response.status, type, errors[0]?.pointer]).toEqual([422, "/problems/invalid", ""]);
    const names = Object.keys(route.query.shape);
    expect(detail).toContain("takes no body");
    expect(detail).toContain(names.length === 0 ? "send none" : `the query string (${names.join(", ")})`);
  });

  it.each(bodiless)("may have a body of no bytes or of white space: $method $path", async (route) => {
    for (const pieces of [["", ""], [" "], ["\r\n", "\t "]]) {
      const response = await withBody(route, streamOf(...pieces));
      expect(await response.text()).not.toContain("takes no body");
    }
  });

  it("changes nothing: a code in the body queues no failed documents", async () => {
    const { submission } = await failed(ids(0, 2));
    const path = `/v1/submissions/${submission}`;
    const { problem } = await refused(`${path}/retry`, post({ code: "too_large" }));
    expect(problem.detail).toBe(
      "POST /v1/submissions/{id}/retry takes no body: options go into the query string (code)",
    );
    expect((await refused(`${path}/cancel`, post({}))).response.status).toBe(422);
    expect(await ask(path)).toMatchObject({ status: "completed", counts: { failed: 2 } });
  });
});

describe("broken percent-encoding", () => {
  const encoded = "is not percent-encoded UTF-8: encode the bytes of the text, and a % itself as %25";

  it.each([
    ["%ff", "a byte that is no UTF-8"],
    ["caf%E9", "Latin-1"],
    ["%e2%82", "a character cut short"],
    ["%ed%a0%80", "half a surrogate pair"],
    ["100%", "a bare %"],
    ["%zz", "no hexadecimal"],
  ])("%s (%s) is refused for every query parameter, by its name", async (value) => {
    for (const route of routes) {
      for (const name of Object.keys(route.query.shape)) {
        const path = `${route.path.replaceAll(/:\w+/g, "x")}?${name}=${value}`;
        const { response, problem } = await refused(path, { method: route.method });
        expect([response.status, problem.errors]).toEqual([422, [{ pointer: `?${name}`, detail: encoded }]]);
      }
    }
  });

  it.each(routes.filter((route) => route.path.includes(":")))(
    "is refused in every path parameter, by name: $method $path",
    async ({ method, path }) => {
      const { response, problem } = await refused(path.replaceAll(/:\w+/g, "%ff"), { method });
      const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => `{${name}}`);
      expect([response.status, problem.errors]).toEqual([422, names.map((pointer) => ({ pointer, detail: encoded }))]);
    },
  );

  it("in a name is refused too, and U+FFFD itself is allowed", async () => {
    expect((await refused("/v1/submissions?%ff=1")).problem.errors).toEqual([{ pointer: "?%ff", detail: encoded }]);
    expect(await ask("/v1/submissions?label=%EF%BF%BD+%2B%25")).toMatchObject({ data: [] });
  });
});
