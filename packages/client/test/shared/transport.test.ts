import { expect, test } from "vitest";
import type { PushProgress, SluicePushError } from "../../src/index.ts";
import { FakeApi, problem } from "../fake-api.ts";
import { clientOf, documents, slowly } from "./client.ts";

/** What Node's `fetch` throws for a code, or for a reason without one. */
function failure(code: string | null, message = code ?? ""): () => never {
  return () => {
    const cause = code === null ? new Error(message) : Object.assign(new Error(message), { code });
    throw Object.assign(new TypeError("fetch failed"), { cause });
  };
}

const refusing = (count: number, fail: () => never) => {
  const api = new FakeApi();
  api.instead.push(...Array.from({ length: count }, () => fail));
  return { api, ...clientOf(api) };
};

test.each([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_SOCKET",
  "SOMETHING_ELSE",
])("retries %s", async (code) => {
  const { client, waits } = refusing(2, failure(code));
  expect(await client.health()).toEqual({ status: "ok" });
  expect(waits).toEqual([500, 1_000]);
});

test.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "The certificate of http://sluice.test is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "is not trusted (SELF_SIGNED_CERT_IN_CHAIN)"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)"],
  ["CERT_HAS_EXPIRED", "is not trusted (CERT_HAS_EXPIRED)"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "is not trusted (ERR_TLS_CERT_ALTNAME_INVALID)"],
  ["ERR_TLS_HANDSHAKE_TIMEOUT", "does not answer in TLS (ERR_TLS_HANDSHAKE_TIMEOUT)"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "does not answer in TLS (ERR_SSL_WRONG_VERSION_NUMBER)"],
  ["EPROTO", "does not answer in TLS (EPROTO)"],
  ["ENOTFOUND", "The host name of http://sluice.test does not resolve (ENOTFOUND)."],
  ["ERR_INVALID_URL", "http://sluice.test is not a valid URL (ERR_INVALID_URL)."],
  [null, "fetch blocks the port of http://sluice.test (bad port)"],
])("%s fails at once, with the cause", async (code, words) => {
  const { client, waits } = refusing(1, failure(code, code ?? "bad port"));
  await expect(client.health()).rejects.toMatchObject({
    code: "unreachable",
    status: null,
    detail: expect.stringContaining(words) as string,
  });
  expect(waits).toEqual([]);
});

test("retries a failure without a code, and keeps its message", async () => {
  const { client, waits } = refusing(6, failure(null, "Network connection lost."));
  await expect(client.health()).rejects.toMatchObject({
    code: "no-answer",
    detail: "http://sluice.test gave no answer, or the connection broke (Network connection lost.).",
  });
  expect(waits).toHaveLength(5);
});

const pushes = {
  "sent whole": [() => documents(5), false],
  streamed: [() => slowly(documents(5_000, "x".repeat(100))), false],
  packed: [() => slowly(documents(5_000, "x".repeat(100))), true],
} as const;

test.each(Object.entries(pushes))("counts no document as sent without a connection (%s)", async (_, [input, gzip]) => {
  for (const code of ["ENOTFOUND", "ECONNREFUSED", "DEPTH_ZERO_SELF_SIGNED_CERT"]) {
    const reported: PushProgress[] = [];
    const api = new FakeApi();
    const takeThenFail = async (request: Request) => {
      // `fetch` reads a first chunk before it connects.
      await request.body?.getReader().read();
      return failure(code)();
    };
    api.instead.push(...Array.from({ length: 6 }, () => takeThenFail));
    const push = clientOf(api).client.push(input(), { gzip, onProgress: (progress) => reported.push(progress) });
    await expect(push).rejects.toMatchObject({ sent: 0, pushed: { accepted: 0 } });
    expect(reported.filter(({ retry }) => retry !== null).every(({ sent, bytes }) => sent === 0 && bytes === 0)).toBe(
      true,
    );
  }
});

test("reports the most that any attempt sent, plus the earlier requests", async () => {
  const all = documents(40, "x".repeat(10_000));
  const maxBytes = 20 * (JSON.stringify(all[10]).length + 1);
  const api = new FakeApi();
  let asked = 0;
  const { client } = clientOf(
    {
      async fetch(input, init) {
        asked += 1;
        if (asked === 1) return api.fetch(input, init);
        if (asked > 2) return failure("ECONNREFUSED")();
        return failure("ECONNRESET")();
      },
    },
    { retries: 2 },
  );
  const error: unknown = await client.push(slowly(all), { maxBytes }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "no-answer", pushed: { accepted: 20 } });
  expect((error as SluicePushError).sent).toBe(40);
});

test.each([
  ["https://other.test/v1/stats", "https://other.test"],
  ["https://other.test/sluice/v1/stats", "https://other.test/sluice"],
  ["https://login.test/start?next=%2Fv1%2Fstats", "https://login.test/start"],
  ["/elsewhere/v1/stats", "http://sluice.test/elsewhere"],
])("reports a redirect to %s instead of following it", async (location, target) => {
  for (const status of [301, 302, 303, 307, 308]) {
    const api = new FakeApi();
    const { client, waits } = clientOf(api);
    api.instead.push(() => new Response(null, { status, headers: { location } }));
    await expect(client.stats()).rejects.toMatchObject({
      code: "redirected",
      status,
      detail:
        `http://sluice.test redirects to ${target}. ` +
        `Redirects are not followed. If the API is at ${target}, use that as the URL.`,
    });
    expect([waits, api.received]).toEqual([[], []]);
  }
});

test.each(["/v1/stats/", "/v1/stats?again=1", "http://sluice.test/v1/stats"])(
  "proposes no URL for a redirect to %s",
  async (location) => {
    const api = new FakeApi();
    api.instead.push(() => new Response(null, { status: 308, headers: { location } }));
    await expect(clientOf(api).client.stats()).rejects.toMatchObject({
      code: "redirected",
      detail:
        "http://sluice.test redirects to itself. Redirects are not followed. " +
        "Check whether a proxy in front of the API requires a login or a cookie.",
    });
  },
);

test("every request disables redirects", async () => {
  const api = new FakeApi();
  const modes: (string | undefined)[] = [];
  const { client } = clientOf({
    fetch(input, init) {
      modes.push(init?.redirect);
      return api.fetch(input, init);
    },
  });
  await client.push(documents(1));
  await client.stats();
  expect(modes).toEqual(["manual", "manual"]);
});

test("does not treat another service's 409 as a push in progress", async () => {
  const api = new FakeApi();
  api.instead.push(() => new Response("busy", { status: 409, headers: { "retry-after": "1" } }));
  const { client, waits } = clientOf(api);
  await expect(client.push(documents(1))).rejects.toMatchObject({ code: "unreadable", title: "Not the API's answer" });
  expect(waits).toEqual([]);
});

test.each(["http://[", "http://user:secret@sluice.test", "http://sluice.test/?a=1", "http://sluice.test/#a"])(
  "refuses the url %s before any request",
  (url) => {
    const make = () => clientOf(new FakeApi(), { url });
    expect(make).toThrow(/^url /);
    expect(make).not.toThrow("secret");
  },
);

test("keeps the readable locations of a problem", async () => {
  const api = new FakeApi();
  const errors = [null, { pointer: "/query", detail: "too long" }, { line: 3, detail: "bad" }, { line: "3" }, "x"];
  api.instead.push(() => problem(422, "invalid", { errors }));
  await expect(clientOf(api).client.stats()).rejects.toMatchObject({
    code: "invalid",
    errors: [
      { pointer: "/query", detail: "too long" },
      { line: 3, detail: "bad" },
    ],
  });
});
