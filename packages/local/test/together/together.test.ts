import { lexicalScore } from "@sluice/local-ai/lexical";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Together } from "./stack.ts";

let together: Together;
beforeAll(async () => {
  together = await Together.start();
}, 60_000);
afterAll(async () => {
  await together.stop();
});
beforeEach(async () => {
  await together.plan({});
});

const WORDS = ["river", "gate", "water", "lock", "stone", "mill", "barge", "rain", "level", "keeper", "weir", "spill"];
/** Documents with unique texts, so that a misplaced score shows. */
function documents(prefix: string, count: number, contexts = 5) {
  const text = (seed: number) =>
    Array.from({ length: 6 }, (_, k) => WORDS[(seed * (k + 3) + k * k) % WORDS.length]).join(" ");
  return Array.from({ length: count }, (_, n) => ({
    id: `${prefix}-${n}`,
    query: `${text(n + 1)} ${n}`,
    contexts: Array.from({ length: contexts }, (_unused, c) => ({ id: `c${c}`, text: `${text(n * 7 + c)} ${n} ${c}` })),
  }));
}
type TestDocument = ReturnType<typeof documents>[number];

/** Compares the scores in D1's view with those that the stand-in computes for each pair, best first. */
async function expectOwnScores(collection: string, document: TestDocument): Promise<void> {
  const rows = await together.sql<{ context_id: string; score: number; rank: number }>(
    "SELECT context_id, score, rank FROM scores WHERE collection = ? AND document_id = ? ORDER BY rank",
    collection,
    document.id,
  );
  const wanted = document.contexts
    .map(({ id, text }, index) => ({ id, index, score: lexicalScore(document.query, text) }))
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .map(({ id, score }, index) => ({ context_id: id, score, rank: index + 1 }));
  expect(rows).toEqual(wanted);
}

describe("from an HTTP push to SELECT … FROM scores", () => {
  it("scores every pair of both lanes from shuffled answers", async () => {
    const mine = documents("way", 60);
    const [one, two] = [mine.slice(0, 30), mine.slice(30)];
    const ids = [
      await together.push(one, { collection: "way" }),
      await together.push(two, { collection: "way", lane: "bulk" }),
    ];
    for (const id of ids)
      expect(await together.finish(id)).toMatchObject({ status: "completed", counts: { total: 30, succeeded: 30 } });
    for (const document of mine) await expectOwnScores("way", document);
    const lanes = await together.sql("SELECT DISTINCT lane FROM jobs ORDER BY lane");
    expect(lanes).toEqual([{ lane: "bulk" }, { lane: "interactive" }]);
  });

  it.each([
    ["shape B", [{ fault: "shape_b" }]],
    ["shape B under result", [{ fault: "shape_b_nested" }]],
    ["a byte stream", [{ fault: "stream" }]],
    ["no external_reference", [{ fault: "references_absent" }]],
    ["the order reversed", [{ fault: "reversed" }]],
    ["everything nested", [{ fault: "nested" }]],
  ])("reads an answer with %s", async (name, poll) => {
    await together.plan({ poll });
    const collection = name.replaceAll(" ", "-");
    const mine = documents("shape", 8);
    expect(await together.finish(await together.push(mine, { collection }))).toMatchObject({
      counts: { succeeded: 8 },
    });
    for (const document of mine) await expectOwnScores(collection, document);
  });

  it("retries failed items and keeps their neighbors' scores", async () => {
    await together.plan({
      items: [
        { fault: "failed_object", match: "1", times: 1 },
        { fault: "score_nan", match: "2", times: 1 },
      ],
    });
    const mine = documents("again", 6);
    expect(await together.finish(await together.push(mine, { collection: "again" }))).toMatchObject({
      counts: { succeeded: 6 },
    });
    for (const document of mine) await expectOwnScores("again", document);
  });

  it("fails a document once its attempts are used up", async () => {
    const mine = documents("broken", 3).map((document, n) =>
      n === 1 ? { ...document, query: `POISON ${document.query}` } : document,
    );
    await together.plan({ items: [{ fault: "failed_text", match: "POISON" }] });
    const ended = await together.finish(await together.push(mine, { collection: "broken" }));
    expect(ended).toMatchObject({ counts: { succeeded: 2, failed: 1 }, failures: { model_error: 1 } });
    expect(await together.sql("SELECT document_id, code, attempts FROM failures WHERE collection = 'broken'")).toEqual([
      { document_id: "broken-1", code: "model_error", attempts: 3 },
    ]);
    const { body } = await together.call("/v1/collections/broken/documents/broken-1");
    expect(body).toMatchObject({
      status: "failed",
      attempts: 3,
      scores: [],
      error: { code: "model_error", retryable: true },
    });
  });

  it("finds the one document that makes Workers AI refuse the batch", async () => {
    const mine = documents("poison", 40).map((document, n) =>
      n === 23 ? { ...document, query: `POISON ${document.query}` } : document,
    );
    await together.plan({ submit: [{ fault: "5006", match: "POISON" }] });
    const ended = await together.finish(await together.push(mine, { collection: "poison" }));
    expect(ended).toMatchObject({ counts: { succeeded: 39, failed: 1 }, failures: { invalid_input: 1 } });
    expect(await together.sql("SELECT document_id FROM failures WHERE collection = 'poison'")).toEqual([
      { document_id: "poison-23" },
    ]);
  });

  it("survives capacity errors, lost answers and a forgotten batch", async () => {
    await together.plan({
      submit: [
        { fault: "3040", at: [1] },
        { fault: "answer_lost", at: [2] },
      ],
      poll: [{ fault: "forgotten", at: [1] }],
    });
    const mine = documents("stormy", 5);
    expect(await together.finish(await together.push(mine, { collection: "stormy" }))).toMatchObject({
      counts: { succeeded: 5 },
      usage: { unconfirmed_dispatches: 1 },
    });
    for (const document of mine) await expectOwnScores("stormy", document);
  });

  it("survives overlapping poller runs", async () => {
    const mine = documents("overlap", 20);
    const id = await together.push(mine, { collection: "overlap" });
    await together.runUntil(
      async () => {
        await Promise.all([together.poll(), together.poll(), together.poll()]);
        return together.submission(id);
      },
      ({ status }) => status === "completed",
    );
    expect(await together.submission(id)).toMatchObject({ counts: { total: 20, succeeded: 20 } });
    for (const document of mine) await expectOwnScores("overlap", document);
  });

  it("keeps old scores, marked stale, until a newer version has its own", async () => {
    const [first] = documents("version", 1);
    if (first === undefined) throw new Error("there is no first document");
    await together.finish(await together.push([first], { collection: "version" }));
    await together.plan({ queued_ms: 3_600_000 });
    const second = { ...first, query: "something else altogether" };
    const id = await together.push([second], { collection: "version" });
    const read = async () =>
      (await together.call("/v1/collections/version/documents/version-0")).body as Record<string, unknown>;
    const waiting = await together.runUntil(read, (document) => document["submission_id"] === id);
    expect(waiting).toMatchObject({ stale: true, status: "processing", query: second.query });
    await expectOwnScores("version", first);
    await together.plan({});
    await together.finish(id);
    expect(await read()).toMatchObject({ stale: false, status: "succeeded", scored_submission_id: id });
    await expectOwnScores("version", second);
  });
});

describe("messages", () => {
  /** The messages of a push, in the producer's own form. */
  async function messageOf(id: string, collection: string, document: TestDocument): Promise<string> {
    const contexts = document.contexts.map(({ text }) => text);
    const carried = {
      place: 0,
      id: document.id,
      bytes: 500,
      query: document.query,
      contexts,
      context_ids: document.contexts.map((c) => c.id),
    };
    const header = {
      v: 1,
      kind: "part",
      submission: id,
      collection,
      model: "@cf/baai/bge-m3",
      lane: "interactive",
      truncate_inputs: true,
    };
    return JSON.stringify({ ...header, part: 0, hash: "again", documents: [carried] });
  }
  const malformed = () =>
    together.sql<{ reason: string; queue: string }>(
      "SELECT queue, reason FROM malformed_messages ORDER BY queue, reason",
    );

  it("change nothing when they are repeated", async () => {
    const [document] = documents("twice", 1);
    if (document === undefined) throw new Error("there is no document");
    const id = await together.push([document], { collection: "twice" });
    await together.finish(id);
    const before = await together.sql("SELECT * FROM submissions WHERE id = ?", id);
    const jobs = await together.sql("SELECT count(*) AS n FROM jobs");
    const [again, marker] = [await messageOf(id, "twice", document), "this marks the end of the delivery"];
    await together.feed("sluice-interactive", again);
    await together.feed("sluice-interactive", again);
    await together.feed("sluice-interactive", marker);
    const kept = await together.runUntil(malformed, (rows) => rows.some((row) => row.queue === "sluice-interactive"));
    expect(kept).toEqual([{ queue: "sluice-interactive", reason: "the body is not JSON" }]);
    expect(await together.sql("SELECT * FROM submissions WHERE id = ?", id)).toEqual(before);
    expect(await together.sql("SELECT count(*) AS n FROM jobs")).toEqual(jobs);
  });

  it("from dead-letter queues are recorded if valid and quarantined otherwise", async () => {
    const [document] = documents("dead", 1);
    if (document === undefined) throw new Error("there is no document");
    const [{ id }] = (await together.sql<{ id: string }>(
      `INSERT INTO submissions (id, collection, model, lane, truncate_inputs, total, created_at, active_at, closed_at)
       SELECT 'sub_ffffffff-ffff-7000-8000-000000000000', 'dead', '@cf/baai/bge-m3', 'interactive', 1, 1, 1, 1, 1 RETURNING id`,
    )) as [{ id: string }];
    await together.feed("sluice-interactive-dead", '{"v":99}');
    await together.feed("sluice-interactive-dead", await messageOf(id, "dead", document));
    expect(await together.finish(id)).toMatchObject({ counts: { total: 1, succeeded: 1 } });
    await expectOwnScores("dead", document);
    const kept = await together.runUntil(malformed, (rows) =>
      rows.some((row) => row.queue === "sluice-interactive-dead"),
    );
    expect(kept).toHaveLength(2);
  });
});
