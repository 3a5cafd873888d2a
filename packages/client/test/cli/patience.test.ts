import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { clientOf } from "../../src/cli/cli.ts";
import { PUSH_RETRIES } from "../../src/cli/commands/push-options.ts";
import { Output } from "../../src/cli/output.ts";
import { FakeApi, KEY } from "../fake-api.ts";
import { documents } from "../shared/client.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const failing = (code: string) => () => {
  throw Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(code), { code }) });
};

/** The command's client, for an API whose first answers fail. */
function connect(failures: readonly (() => never)[]) {
  const api = new FakeApi();
  api.instead.push(...failures);
  vi.stubGlobal("fetch", api.fetch);
  const sink = { write: () => true };
  const env = { SLUICE_URL: "http://sluice.test", SLUICE_API_KEY: KEY };
  return { api, client: clientOf({ env, out: new Output(sink, sink, false) }, { retries: PUSH_RETRIES }) };
}

test("retries while a server that broke the connection restarts", async () => {
  const { client, api } = connect([failing("UND_ERR_SOCKET"), ...Array(6).fill(failing("ECONNREFUSED"))]);
  const started = Date.now();
  let waits = 0;
  const pushed = client.push(documents(3), { onProgress: ({ retry }) => (waits += retry === null ? 0 : 1) });
  await vi.runAllTimersAsync();
  expect(await pushed).toMatchObject({ accepted: 3 });
  expect(api.received).toHaveLength(1);
  expect(Date.now() - started).toBeGreaterThanOrEqual(30_000);
  expect(Date.now() - started).toBeLessThanOrEqual(70_000);
  expect(waits).toBe(7);
});

test.each([
  ["ECONNREFUSED", "Nothing answers at http://sluice.test (ECONNREFUSED). Check that the server is running."],
  ["EHOSTUNREACH", "Nothing answers at http://sluice.test (EHOSTUNREACH). Check that the server is running."],
  [
    "UND_ERR_CONNECT_TIMEOUT",
    "Nothing answers at http://sluice.test (UND_ERR_CONNECT_TIMEOUT). Check that the server is running.",
  ],
  ["EAI_AGAIN", "The host name of http://sluice.test could not be looked up (EAI_AGAIN)."],
])("does not retry if no server ever answered (%s)", async (code, detail) => {
  const { client } = connect(Array(8).fill(failing(code)));
  const reported: unknown[] = [];
  const pushed = client.push(documents(3), { onProgress: ({ retry }) => reported.push(retry) });
  pushed.catch(() => {});
  const started = Date.now();
  await vi.runAllTimersAsync();
  await expect(pushed).rejects.toMatchObject({ code: "unreachable", detail, sent: 0 });
  expect(reported.filter((retry) => retry !== null)).toEqual([]);
  expect(Date.now() - started).toBe(0);
});
