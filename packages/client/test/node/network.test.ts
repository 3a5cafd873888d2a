import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Sluice } from "../../src/index.ts";
import { FakeApi, KEY } from "../fake-api.ts";
import { serve } from "../serve.ts";
import { documents } from "../shared/client.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Serves the API on its own port. `handlers` answer the first requests instead of it. */
async function listen(...handlers: Handler[]) {
  const api = new FakeApi();
  const pass = serve(api.fetch);
  const server = createServer((request, response) => (handlers.shift() ?? pass)(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const waits: number[] = [];
  const client = new Sluice(
    { url, key: KEY },
    {
      sleep: async (milliseconds) => {
        waits.push(milliseconds);
      },
    },
  );
  return { api, client, waits, url };
}

const big = documents(3_000, "x".repeat(1_000));
const linesOf = (api: FakeApi) => api.received.map(({ text }) => text.split("\n").length - 1);

test("streams a large push", async () => {
  const { api, client } = await listen();
  expect((await client.push(big)).accepted).toBe(3_000);
  expect(linesOf(api)).toEqual([3_000]);
  expect(api.received[0]?.headers.get("transfer-encoding")).toBe("chunked");
});

test("sends a small push with its length", async () => {
  const { api, client } = await listen();
  await client.push(big.slice(0, 2));
  expect(api.received[0]?.headers.get("content-length")).toBe(String(api.received[0]?.text.length));
});

test("sends a complete gzip push", async () => {
  const { api, client } = await listen();
  expect((await client.push(big, { gzip: true })).accepted).toBe(3_000);
  expect(linesOf(api)).toEqual([3_000]);
});

test("retries a connection that breaks during the body or before the answer", async () => {
  const { api, client, waits } = await listen(
    (request) => request.once("data", () => request.socket.destroy()),
    (request) => request.resume().once("end", () => request.socket.destroy()),
  );
  expect((await client.push(big)).accepted).toBe(3_000);
  expect(linesOf(api)).toEqual([3_000]);
  expect(waits).toHaveLength(2);
});

test("retries a truncated answer", async () => {
  const { client, waits } = await listen((request, response) => {
    request.resume();
    response.writeHead(200, { "content-length": "1000" }).write("{");
    response.once("drain", () => undefined);
    setImmediate(() => request.socket.destroy());
  });
  expect(await client.health()).toEqual({ status: "ok" });
  expect(waits).toHaveLength(1);
});

test("stops sending when the answer arrives before the end of the body", async () => {
  const { client } = await listen((request, response) => {
    request.once("data", () => {
      const body = { type: "/problems/unauthorized", title: "No", status: 401, detail: "No.", errors: [] };
      response.writeHead(401, { "content-type": "application/problem+json" }).end(JSON.stringify(body));
    });
  });
  let taken = 0;
  async function* endless() {
    for (;;) {
      taken += 1;
      yield { query: "q", contexts: ["x".repeat(1_000)] };
      await new Promise(setImmediate);
    }
  }
  await expect(client.push(endless())).rejects.toMatchObject({ status: 401, code: "unauthorized" });
  expect(taken).toBeLessThan(90_000);
});

test("reports that nothing listens, after the retries", async () => {
  const { url } = await listen();
  for (const close of closing.splice(0)) await close();
  const client = new Sluice({ url, key: KEY, retries: 2 }, { sleep: async () => {} });
  await expect(client.health()).rejects.toMatchObject({
    code: "no-answer",
    status: null,
    detail: `Nothing answers at ${url} (ECONNREFUSED). Check that the server is running.`,
  });
});
