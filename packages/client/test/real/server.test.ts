import { randomUUID } from "node:crypto";
import { expect, inject, test } from "vitest";
import { Sluice, type DocumentIn } from "../../src/index.ts";
import { webIo, type Io } from "../../src/io.ts";
import { Bench, records } from "../cli/run.ts";
import { collect } from "../shared/client.ts";

/* Runs the client and the command against the real Workers: see stack.ts. */
const { url, key } = inject("stack");
/** The stack answers within milliseconds, so the default intervals would dominate the test time. */
const sleep: Io["sleep"] = (milliseconds, signal) => webIo.sleep(Math.min(milliseconds, 20), signal);
const connect = () => new Sluice({ url, key }, { sleep });

/** The command in its own folder, against the stack. */
async function startBench(): Promise<Bench> {
  const bench = await Bench.start();
  bench.env = { ...bench.env, SLUICE_URL: url, SLUICE_API_KEY: key };
  bench.sleep = sleep;
  return bench;
}

const collection = `client-${randomUUID().slice(0, 8)}`;

function documents(count: number, prefix: string): DocumentIn[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${prefix}${index}`,
    query: "capital of France",
    contexts: [
      { id: "no", text: "Bananas are yellow." },
      { id: "yes", text: "Paris is the capital of France." },
    ],
    metadata: { index },
  }));
}

test("a pushed document is scored and can be read in every way", async () => {
  const client = connect();
  const pushed = await client.push(documents(250, "a"), { collection, label: collection, gzip: true });
  expect(pushed).toMatchObject({ accepted: 250, rejectedCount: 0, alreadyThere: 0 });
  const id = pushed.submissions[0]?.id ?? "";
  const statuses: string[] = [];
  const ended = await client.wait(id, { onProgress: ({ status }) => statuses.push(status) });
  expect(ended).toMatchObject({ status: "completed", label: collection, counts: { total: 250, succeeded: 250 } });

  const found = await collect(client.results(id, { limit: 40, topK: 1, include: ["text", "metadata"] }));
  expect(found.map((document) => document.id).toSorted()).toEqual(
    documents(250, "a")
      .map((document) => document.id ?? "")
      .toSorted(),
  );
  expect(found.every(({ scores }) => scores.length === 1 && scores[0]?.context_id === "yes")).toBe(true);
  expect(found[0]).toMatchObject({ scores: [{ text: "Paris is the capital of France." }], metadata: { index: 0 } });

  const one = await client.document(collection, "a7");
  expect(one).toMatchObject({ id: "a7", status: "succeeded", scores: [{ rank: 1, context_id: "yes" }, { rank: 2 }] });
  expect((await client.submissions({ limit: 5 }).page()).data.map((submission) => submission.id)).toContain(id);
});

test("a repeated push with the same key is stored once", async () => {
  const client = connect();
  const options = { collection, idempotencyKey: randomUUID() };
  const first = await client.push(documents(300, "b"), options);
  const second = await client.push(documents(300, "b"), options);
  expect(second).toMatchObject({ alreadyThere: 300, accepted: 300 });
  expect(second.submissions.map(({ id }) => id)).toEqual(first.submissions.map(({ id }) => id));
  await expect(client.push(documents(299, "b"), options)).rejects.toMatchObject({ code: "idempotency-key-reused" });
  await client.wait(first.submissions[0]?.id ?? "");
});

test("lists invalid lines by number, across several requests", async () => {
  const client = connect();
  const lines = documents(60, "c").map((document) => JSON.stringify(document));
  lines[20] = "not JSON";
  lines[50] = '{"query":""}';
  const pushed = await client.push(lines, { collection, maxBytes: 5_000 });
  expect(pushed.submissions.length).toBeGreaterThan(1);
  expect(pushed).toMatchObject({ accepted: 58, rejectedCount: 2 });
  expect(pushed.rejected.map(({ line }) => line)).toEqual([21, 51]);
  for (const { id } of pushed.submissions) await client.wait(id);
});

test("reads documents, jobs, stats and the feed, and pauses", async () => {
  const client = connect();
  const pushed = await client.push(documents(3, "d"), { collection });
  await client.wait(pushed.submissions[0]?.id ?? "");
  const list = await client.documents(collection, ["d2", "d0", "nobody"]);
  expect(list.data.map(({ id }) => id)).toEqual(["d2", "d0"]);
  expect(list.missing).toEqual(["nobody"]);
  const job = (await client.jobs({ limit: 5 }).page()).data[0];
  expect(await client.job(job?.id ?? "")).toMatchObject({ id: job?.id, status: "succeeded" });
  expect((await client.pause({ model: "@cf/baai/bge-m3" })).map(({ scope }) => scope)).toContain(
    "model:@cf/baai/bge-m3",
  );
  const { resumed, data } = await client.resume({ model: "@cf/baai/bge-m3" });
  expect(resumed).toMatchObject({ scope: "model:@cf/baai/bge-m3", reason: "requested" });
  expect(data.map(({ scope }) => scope)).not.toContain("model:@cf/baai/bge-m3");
  expect((await client.stats()).poller).not.toBeNull();
  for await (const document of client.feed({ collection, wait: 1 })) {
    expect(document.collection).toBe(collection);
    break;
  }
  expect(await client.retry(pushed.submissions[0]?.id ?? "")).toMatchObject({ queued: 0 });
  expect((await client.deleteDocument(collection, "d0")).deleted).toBe(1);
  await expect(client.document(collection, "d0")).rejects.toMatchObject({ code: "not-found" });
});

test("a feed from now yields only documents that end later", async () => {
  const client = connect();
  const feed = client.feed({ collection, from: "now", wait: 5 });
  const next = feed[Symbol.asyncIterator]().next();
  while (feed.cursor === null) await new Promise(setImmediate);
  await client.push([{ ...documents(1, "late")[0], query: "late", contexts: ["a"] }], { collection });
  expect((await next).value).toMatchObject({ id: "late0", status: "succeeded" });
});

test("the command pushes a file and reports the result", async () => {
  const bench = await startBench();
  try {
    bench.write("docs.ndjson", [...documents(120, "e"), "not JSON"]);
    const { code, stdout } = await bench.run(["push", "docs.ndjson", "--collection", collection]);
    expect(code).toBe(4);
    expect(records(stdout)).toMatchObject([
      { accepted: 120, rejected: [{ line: 121 }], submissions: [{ status: "completed", counts: { succeeded: 120 } }] },
    ]);
    const scores = await bench.run(["scores", "e5", "--collection", collection]);
    expect(records(scores.stdout)).toMatchObject([
      { rank: 1, context_id: "yes" },
      { rank: 2, context_id: "no" },
    ]);
  } finally {
    await bench.stop();
  }
});

test("returns metadata exactly, to the command and as text to the client", async () => {
  const metadata = '{"id":1546130668394913823,"version":1.0}';
  const bench = await startBench();
  try {
    bench.write("docs.ndjson", [`{"id":"big","query":"q","contexts":["a"],"metadata":${metadata}}`]);
    const { stdout } = await bench.run(["push", "docs.ndjson", "--collection", collection]);
    const [pushed] = records(stdout) as [{ submissions: [{ id: string }] }];
    const results = await bench.run(["results", pushed.submissions[0].id, "--include", "metadata"]);
    expect(results.stdout).toContain(`,"metadata":${metadata}}`);
    expect(await connect().document(collection, "big", { include: ["metadata"] })).toMatchObject({
      metadata: { id: 1546130668394913800, version: 1 },
      metadata_json: metadata,
    });
  } finally {
    await bench.stop();
  }
});

test("the estimate of a push equals its counted usage", async () => {
  const bench = await startBench();
  try {
    const contexts = Array.from({ length: 100 }, () => "c".repeat(40));
    bench.write(
      "docs.ndjson",
      Array.from({ length: 20 }, () => ({ query: "q".repeat(400), contexts })),
    );
    const push = ["push", "docs.ndjson", "--collection", collection];
    const [estimated] = records((await bench.run([...push, "--estimate"])).stdout);
    expect(estimated).toMatchObject({ estimate: { tokens: 220_000 } });
    const [pushed] = records((await bench.run([...push, "--max-usd", "0.01"])).stdout);
    expect(pushed).toMatchObject({ submissions: [{ counts: { succeeded: 20 }, usage: { tokens: 220_000 } }] });
  } finally {
    await bench.stop();
  }
});

test("scores each of 10,000 documents once when an interrupted push is repeated", async () => {
  const client = connect();
  // Almost 4 KB, the limit of metadata, so that the push is slow enough to interrupt.
  const filler = "The river runs past the mill, over the weir and down to the sea. ".repeat(55);
  const own = `interrupted-${collection}`;
  const bench = await startBench();
  try {
    bench.write(
      "docs.ndjson",
      documents(10_000, "f").map((document) => ({ ...document, metadata: { filler } })),
    );
    const push = ["push", "docs.ndjson", "--collection", own, "--key", randomUUID()];
    const { child, ended } = bench.start(push);
    const arrived = async () => (await client.submissions({ collection: own }).page()).data[0]?.counts.total ?? 0;
    while ((await arrived()) < 1_000);
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 130 });

    const again = await bench.run(push);
    expect(again.code, again.stderr).toBe(0);
    const [record] = records(again.stdout) as {
      already_there: number;
      submissions: { id: string; counts: object }[];
    }[];
    expect(record?.already_there).toBeGreaterThan(0);
    expect(record?.already_there).toBeLessThan(10_000);
    expect(record?.submissions).toMatchObject([{ status: "completed", counts: { total: 10_000, succeeded: 10_000 } }]);
    // One submission, and as many scored contexts as were sent: none was scored twice.
    expect((await client.submissions({ collection: own }).page()).data).toHaveLength(1);
    const found = await collect(client.results(record?.submissions[0]?.id ?? "", { limit: 1_000, topK: 1 }));
    expect(new Set(found.map((document) => document.id)).size).toBe(10_000);
    expect(found).toHaveLength(10_000);
    expect(found.every((document) => document.attempts === 1)).toBe(true);
  } finally {
    await bench.stop();
  }
});

test("doctor finds nothing wrong with a stack that runs", async () => {
  const bench = await startBench();
  try {
    const { code, stdout, stderr } = await bench.run(["doctor"]);
    expect(stderr).toBe("");
    expect(records(stdout)).toEqual([{ healthy: true, problems: [], notes: [] }]);
    expect(code).toBe(0);
  } finally {
    await bench.stop();
  }
});
