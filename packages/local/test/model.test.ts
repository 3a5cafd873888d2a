import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bestIndex, readSample, sharesNoWord } from "./everyday.ts";

const SERVER = fileURLToPath(import.meta.resolve("../src/model/server.ts"));
const started: ChildProcess[] = [];

/** The URL of the shared model process. Tests that end a process start their own. */
let shared = "";
beforeAll(async () => {
  shared = (await start()).url;
});
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
});

async function portOf(child: ChildProcess): Promise<string> {
  started.push(child);
  if (child.stdout === null) throw new Error("no stdout");
  const [line]: unknown[] = await once(createInterface({ input: child.stdout }), "line");
  const { listening } = JSON.parse(String(line)) as { listening: number };
  return `http://127.0.0.1:${listening}`;
}

async function start() {
  const child = spawn(process.execPath, [SERVER], { stdio: ["pipe", "pipe", "pipe"] });
  return { child, url: await portOf(child) };
}

const post = (url: string, body: unknown) => fetch(url, { method: "POST", body: JSON.stringify(body) });

test("scores a batch in the background, a paraphrase higher than an unrelated text", { timeout: 60_000 }, async () => {
  const url = shared;
  const contexts = [{ text: "Bananas are rich in potassium." }, { text: "You may set a new one on the sign-in page." }];
  const body = { requests: [{ query: "how do I change my password", contexts }] };
  expect((await fetch(`${url}/batches/one`)).status).toBe(404);
  expect((await post(`${url}/batches/one`, body)).status).toBe(202);
  // Batches take turns, so one that starts later with the same length ends later.
  const direct = (await (await post(`${url}/score`, body)).json()) as { scores: number[][] };
  const batch = (await (await fetch(`${url}/batches/one`)).json()) as { state: string; scores: number[][] };
  expect(batch).toEqual({ state: "done", scores: direct.scores });
  const [other = 1, paraphrase = 0] = batch.scores[0] ?? [];
  expect(paraphrase).toBeGreaterThan(other + 0.1);
});

test("refuses an invalid batch", { timeout: 60_000 }, async () => {
  const url = shared;
  for (const body of [null, {}, { requests: [{ query: "q" }] }, { requests: [{ query: "q", contexts: ["t"] }] }]) {
    expect((await post(`${url}/score`, body)).status).toBe(400);
  }
  expect((await post(`${url}/nothing`, {})).status).toBe(404);
});

test("the model ranks the intended context of the sample first", { timeout: 120_000 }, async () => {
  const url = shared;
  const sample = readSample();
  const requests = sample.map(({ query, contexts }) => ({ query, contexts: contexts.map((text) => ({ text })) }));
  const { scores } = (await (await post(`${url}/score`, { requests })).json()) as { scores: number[][] };
  const isFirst = sample.map((document, index) => {
    const list = scores[index] ?? [];
    return list.indexOf(Math.max(...list)) === bestIndex(document);
  });
  expect(isFirst.filter(Boolean).length).toBeGreaterThanOrEqual(36);
  expect(sample.filter((document, index) => sharesNoWord(document) && isFirst[index]).length).toBeGreaterThanOrEqual(
    10,
  );
});

test("the process exits quietly when its stdin closes, and on a signal", { timeout: 60_000 }, async () => {
  for (const end of [(child: ChildProcess) => child.stdin?.end(), (child: ChildProcess) => child.kill("SIGINT")]) {
    const { child } = await start();
    let errors = "";
    child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
    const closed = once(child, "close");
    end(child);
    expect(await closed).toEqual([0, null]);
    expect(errors).toBe("");
  }
});

test("the process does not outlive a killed parent", { timeout: 60_000 }, async () => {
  const script = `require("node:child_process").spawn(process.execPath, [process.argv[1]], { stdio: ["pipe", "inherit", "inherit"] })`;
  const parent = spawn(process.execPath, ["-e", script, SERVER], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await portOf(parent);
  expect((await fetch(`${url}/batches/none`)).status).toBe(404);
  const closed = once(parent, "close");
  parent.kill("SIGKILL");
  // The pipe closes only when the last process that holds it is gone.
  await closed;
  await expect(fetch(`${url}/batches/none`)).rejects.toThrow("fetch failed");
});
