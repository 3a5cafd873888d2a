import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { jobId, open, part, record } from "@sluice/pipeline/test-support/fixtures.ts";
import type { DocumentShape } from "../src/shapes/document.ts";
import { testApi } from "./api.ts";
import { ask, db, ids, limited, recorded, refused, scored } from "./stored.ts";

describe("documents by their ids", () => {
  const path = (...asked: string[]) =>
    `/v1/collections/default/documents?${asked.map((id) => `id=${encodeURIComponent(id)}`).join("&")}`;

  it("come in the order requested, each in its newest version, with unknown ids listed", async () => {
    await scored([{ id: "a" }, { id: "b/é" }]);
    const { submission } = await recorded([{ id: "a" }]);
    const answer = await ask<{ data: DocumentShape[]; missing: string[] }>(path("b/é", "nothing", "a"));
    expect(answer.data.map((one) => [one.id, one.status, one.stale])).toEqual([
      ["b/é", "succeeded", false],
      ["a", "processing", true],
    ]);
    expect(answer.data[1]).toMatchObject({ submission_id: submission });
    expect(answer.missing).toEqual(["nothing"]);
  });

  it("show what is requested", async () => {
    await scored([{ id: "a", contexts: ["one", "two"] }]);
    const answer = await ask<{ data: DocumentShape[] }>(`${path("a")}&include=text&top_k=1`);
    expect(answer.data[0]?.scores).toEqual([
      { rank: 1, score: 0.75, context_id: "1", context_index: 1, text: "two", text_expired_at: null },
    ]);
  });

  it("are all missing for a key of other collections", async () => {
    await scored([{ id: "a" }]);
    expect(await ask(path("a"), {}, await limited())).toEqual({ data: [], missing: ["a"] });
  });

  it.each([
    ["none", "/v1/collections/default/documents"],
    ["101", path(...Array.from({ length: 101 }, (_, index) => `d${index}`))],
  ])("are refused with %s ids", async (_, url) => {
    const { response, problem } = await refused(url);
    expect([response.status, problem.detail]).toEqual([422, "?id: must be given 1 to 100 times"]);
  });

  it("of more than 20 MB are refused", async () => {
    const big = Array.from({ length: 23 }, (_, index) => ({ id: `d${index}`, query: "q".repeat(900_000) }));
    const submission = await open(db(), { total: big.length });
    for (const [number, document] of big.entries())
      await record(db(), jobId(), [[part(submission, number, [document], number)]]);
    const { response, problem } = await refused(path(...big.map((one) => one.id)));
    expect([response.status, problem.detail]).toEqual([422, expect.stringContaining("20 MB")]);
    expect((await ask<{ data: unknown[] }>(path("d0", "d1"))).data).toHaveLength(2);
  });

  it("read rows in proportion to their number", async () => {
    await scored(ids(0, 400));
    const { d1, counts } = countedDatabase(env.DB);
    const api = await testApi({ db: openDatabase(d1) });
    expect((await ask<{ data: unknown[] }>(path(...ids(0, 100).map((one) => one.id)), {}, api)).data).toHaveLength(100);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(100 * 14);
  });
});
