import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { Document } from "../../src/types.ts";
import { type Bench, test } from "./run.ts";

const has = (command: string) => spawnSync(command, ["--version"]).status === 0;

async function run(bench: Bench, command: string, name: string, ...args: string[]) {
  const path = fileURLToPath(import.meta.resolve(`../../examples/${name}`));
  const child = spawn(command, [path, ...args], { env: bench.env, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...output };
}

/** The fake API fails documents with the query "fail", so the example's document gets that query. */
function failing(bench: Bench, id: string): void {
  const { fetch } = bench.api;
  bench.api.instead.push(async (request) => {
    const body = (await request.text()).trim();
    const all = body.split("\n").map((line) => JSON.parse(line) as Document);
    const lines = all.map((one) => JSON.stringify(one.id === id ? { ...one, query: "fail" } : one));
    return fetch(request.url, {
      method: "POST",
      headers: request.headers,
      body: lines.map((line) => `${line}\n`).join(""),
    });
  });
}

test.runIf(has("curl"))("push.sh fails if its document failed, and shows the error", async ({ bench }) => {
  failing(bench, "from-curl");
  const { code, stdout } = await run(bench, "bash", "push.sh");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ id: "from-curl", status: "failed", error: { code: "model_error" } });
});

test("push-file keeps a document with U+2028 and U+2029 in one piece", async ({ bench }) => {
  const document = { id: "a", query: "one\u2028query", contexts: ["one\u2029text"] };
  bench.write("docs.ndjson", [document, "not JSON"]);
  bench.env = { ...bench.env, NODE_OPTIONS: "--conditions=sluice-workspace" };
  const { code, stdout, stderr } = await run(
    bench,
    process.execPath,
    "push-file/index.ts",
    join(bench.folder, "docs.ndjson"),
  );
  expect(bench.api.received[0]?.text.split("\n")[0]).toBe(JSON.stringify(document));
  expect(stdout).toBe("a\t0.900\ttext 0\n");
  expect([code, stderr]).toEqual([1, "document 2: query must be a string\n"]);
});

test.runIf(has("python3"))("push.py reports failed documents in addition to the others", async ({ bench }) => {
  failing(bench, "py-egg");
  const { code, stdout, stderr } = await run(bench, "python3", "push.py");
  expect(code).toBe(1);
  expect(stderr).toBe("py-egg\tmodel_error\tThe model broke down.\n");
  expect(stdout).toBe("py-bike\t0.900\ttext 0\n");
});
