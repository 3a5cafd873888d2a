import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import {
  connect,
  createServer as createNetServer,
  type AddressInfo,
  type Server as NetServer,
  type Socket,
} from "node:net";
import { expect, onTestFinished } from "vitest";
import { Sluice } from "../../src/index.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../certificate.ts";
import { KEY } from "../fake-api.ts";
import { documents } from "../shared/client.ts";
import { test as base, type Bench } from "./run.ts";

const test = base.extend<{ bench: Bench }>({
  bench: async ({ bench }, use) => {
    bench.write("docs.ndjson", documents(5));
    await use(bench);
  },
});

/** Listens until the end of the test. Returns the port. */
async function listen(server: NetServer | Server): Promise<number> {
  onTestFinished(() => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const HINT = "Check the URL in SLUICE_URL.\n";

interface Trouble {
  readonly url: () => Promise<string>;
  readonly words: string;
}

const troubles: Readonly<Record<string, Trouble>> = {
  "a self-signed certificate": {
    async url() {
      const server = createHttpsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (_, response) =>
        response.end("{}"),
      );
      return `https://127.0.0.1:${await listen(server)}`;
    },
    words:
      "Not reachable: The certificate of URL is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT). " +
      "To trust it, put it in a file and set NODE_EXTRA_CA_CERTS to its path.\n",
  },
  "https:// on a port without TLS": {
    url: async () => `https://127.0.0.1:${await listen(createHttpServer((_, response) => response.end("{}")))}`,
    words: "Not reachable: URL does not answer in TLS (ERR_SSL_WRONG_VERSION_NUMBER). It may be an http:// address.\n",
  },
  "an answer that is not HTTP": {
    async url() {
      const server = createNetServer((socket) => socket.on("error", () => {}).end("SSH-2.0-OpenSSH_9.6\r\n"));
      return `http://127.0.0.1:${await listen(server)}`;
    },
    words: "The answer of URL is not HTTP. It may be an https:// address or another service.\n",
  },
  "a port that fetch blocks": {
    url: async () => "http://127.0.0.1:6000",
    words: "Not reachable: fetch blocks the port of URL (bad port). The API must listen on another port.\n",
  },
  "a port that nothing listens on": {
    async url() {
      const server = createHttpServer();
      const port = await listen(server);
      await new Promise((resolve) => server.close(resolve));
      return `http://127.0.0.1:${port}`;
    },
    words: "Not reachable: Nothing answers at URL (ECONNREFUSED). Check that the server is running.\n",
  },
};

test.for(Object.entries(troubles))(
  "%s fails every command at once, with the cause",
  async ([_, { url, words }], { bench }) => {
    const at = await url();
    bench.env["SLUICE_URL"] = at;
    const stderr = words.replaceAll("URL", at) + HINT;
    const ended = { code: 1, stdout: "", stderr };
    expect(await bench.run(["status"])).toEqual(ended);
    expect(await bench.run(["tail"])).toEqual(ended);
    // Nothing was sent, so the command reports no count.
    expect(await bench.run(["push", "docs.ndjson"])).toEqual(ended);
  },
);

test("a host name that does not resolve fails the command at once", async ({ bench }) => {
  bench.env["SLUICE_URL"] = "http://nowhere.invalid";
  const { code, stdout, stderr } = await bench.run(["push", "docs.ndjson"]);
  expect([code, stdout]).toEqual([1, ""]);
  // Without a network the lookup itself fails, which is another error.
  expect(stderr).toMatch(
    /^Not reachable: The host name of http:\/\/nowhere\.invalid (does not resolve \(ENOTFOUND\)|was not looked up \(EAI_AGAIN\))\.\n/,
  );
  expect(stderr.endsWith(`\n${HINT}`)).toBe(true);
});

test("reports a redirect to another origin and sends it neither key nor documents", async ({ bench }) => {
  const arrived: string[] = [];
  const other = createHttpServer((request, response) => {
    arrived.push(request.url ?? "");
    response.end("{}");
  });
  const target = `http://localhost:${await listen(other)}`;
  const redirecting = createHttpServer((request, response) => {
    response.writeHead(307, { location: `${target}${request.url ?? ""}` }).end();
  });
  const url = `http://127.0.0.1:${await listen(redirecting)}`;
  bench.env["SLUICE_URL"] = url;
  const stderr =
    `Redirected: ${url} redirects to ${target}. ` +
    `Redirects are not followed. If the API is at ${target}, use that as the URL.\n${HINT}`;
  expect(await bench.run(["status"])).toEqual({ code: 1, stdout: "", stderr });
  expect(await bench.run(["push", "docs.ndjson"])).toEqual({ code: 1, stdout: "", stderr });
  expect(arrived).toEqual([]);
});

test.for([
  ["push", "docs.ndjson"],
  ["push", "docs.ndjson", "--no-wait"],
  ["status"],
  ["status", "sub_1"],
  ["results", "sub_1"],
  ["scores", "d1"],
  ["why", "d1"],
  ["why", "sub_1"],
  ["why", "job_1"],
  ["jobs"],
  ["jobs", "job_1"],
  ["retry", "sub_1"],
  ["cancel", "sub_1"],
  ["pause"],
  ["resume"],
  ["tail"],
])("%s %s %s reports JSON that does not come from the API", async (args, { bench }) => {
  const hello = createHttpServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" }).end('{"message":"hi"}');
  });
  bench.env["SLUICE_URL"] = `http://127.0.0.1:${await listen(hello)}`;
  for (const form of ["table", "ndjson"]) {
    const { code, stdout, stderr } = await bench.run([...args, "--output", form]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^The answer \(status 200\) is not the API's\. Check the URL, and any proxy in front of the API\. \(.* is missing\)\nCheck the URL in SLUICE_URL\.\n$/,
    );
  }
});

test("treats a 409 before the end of the body as a push in progress", async ({ bench }) => {
  const problem = { type: "/problems/conflict", title: "Conflict", status: 409, detail: "Under way.", errors: [] };
  const body = JSON.stringify(problem);
  const head = `HTTP/1.1 409 Conflict\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n`;
  const busy = createNetServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(`${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`));
  });
  await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
  try {
    bench.write("big.ndjson", documents(20_000, "x".repeat(1_000)));
    bench.env["SLUICE_URL"] = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`;
    const stop = new AbortController();
    const { code, stderr } = await bench.run(["push", "big.ndjson"], "", {
      signal: stop.signal,
      onNote: () => stop.abort(new Error("stopped")),
    });
    expect(code).toBe(130);
    expect(stderr).toMatch(/^an earlier push is still running: retrying in 1\.\d s/);
    expect(stderr).not.toContain("No answer");
  } finally {
    busy.close();
  }
});

test("NODE_USE_ENV_PROXY=1 sends requests through the proxy in HTTP_PROXY", async ({ bench }) => {
  const tunnels: string[] = [];
  const proxy = createHttpServer();
  proxy.on("connect", (request, socket: Socket) => {
    tunnels.push(request.url ?? "");
    const [host = "", port = ""] = (request.url ?? "").split(":");
    const upstream = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(upstream).pipe(socket);
    });
    for (const end of [socket, upstream]) end.on("error", () => end.destroy());
  });
  bench.env = { ...bench.env, HTTP_PROXY: `http://127.0.0.1:${await listen(proxy)}` };
  for (const name of ["NO_PROXY", "no_proxy", "http_proxy", "NODE_USE_ENV_PROXY"]) delete bench.env[name];
  expect((await bench.spawn(["status"])).code).toBe(0);
  expect(tunnels).toEqual([]);
  bench.env["NODE_USE_ENV_PROXY"] = "1";
  expect((await bench.spawn(["status"])).code).toBe(0);
  expect(tunnels).toEqual([new URL(bench.env["SLUICE_URL"] ?? "").host]);
});

test("the library retries while a server starts, then pushes", async ({ bench }) => {
  const url = bench.env["SLUICE_URL"] ?? "";
  await bench.pauseListening();
  const sleep = async () => bench.listenAgain();
  const client = new Sluice({ url, key: KEY }, { sleep });
  expect(await client.push(documents(3))).toMatchObject({ accepted: 3 });
});
