import { env } from "cloudflare:test";
import type { JobId } from "@sluice/core";
import { deleteDocument } from "@sluice/pipeline/document/sql/delete-document.ts";
import { openDatabase } from "@sluice/db";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { dispatch, jobId, open, part, record, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import { parseKeys } from "../src/http/keys.ts";
import type { DocumentShape } from "../src/shapes/document.ts";
import { KEY, NOW, keyRecord, testApi, type TestApi } from "./api.ts";
import { ask, db, endJob, failed, ids, recorded, refused, scored, scoresOf, type Page } from "./stored.ts";

interface FeedPage {
  readonly data: readonly DocumentShape[];
  readonly next_cursor: string;
}

/** Follows the feed to its current end; gives the ids of each page. */
async function follow(
  query = "",
  api?: TestApi,
  from = "",
): Promise<{ readonly pages: string[][]; readonly cursor: string }> {
  const pages: string[][] = [];
  let cursor = from;
  for (;;) {
    const search = new URLSearchParams(query);
    if (cursor !== "") search.set("cursor", cursor);
    const page: FeedPage = await ask(`/v1/results?${search.toString()}`, {}, api);
    cursor = page.next_cursor;
    if (page.data.length === 0) return { pages, cursor };
    pages.push(page.data.map((one) => one.id));
  }
}

/** Two submissions of ten documents in one job, then one of five in another job that ends first. */
async function mixed(): Promise<void> {
  const [a, b] = [await open(db(), { total: 10 }), await open(db(), { total: 10, collection: "other" })];
  const shared = jobId();
  await record(db(), shared, [[part(a, 0, ids(0, 10)), part(b, 0, ids(10, 20), 0, "other")]]);
  await scored(ids(20, 25));
  await succeed(db(), shared, await dispatch(db(), shared));
}

describe("the feed", () => {
  const inOrder = [...ids(20, 25), ...ids(0, 10), ...ids(10, 20)].map((one) => one.id);

  it("gives documents in the order in which their jobs end, each once over all pages", async () => {
    await mixed();
    for (const limit of [1, 4, 7, 24, 25, 1_000]) {
      const { pages } = await follow(`limit=${limit}`);
      expect(pages.flat()).toEqual(inOrder);
      expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true);
    }
  });

  it("continues from the cursor of an empty page with documents that ended since", async () => {
    const before = await follow();
    expect(before.pages).toEqual([]);
    await mixed();
    const { pages, cursor } = await follow("", undefined, before.cursor);
    expect(pages.flat()).toEqual(inOrder);
    await failed([{ id: "late" }]);
    const after = await follow("", undefined, cursor);
    expect(after.pages).toEqual([["late"]]);
  });

  it("gives each document, failures included, in the shape of every other route", async () => {
    const { submission } = await failed([{ id: "f" }]);
    const page = await ask<FeedPage>("/v1/results?include=text");
    const results = await ask<Page<DocumentShape>>(`/v1/submissions/${submission}/results?include=text`);
    expect(page.data).toEqual(results.data);
    expect(page.data[0]).toMatchObject({ status: "failed", error: { code: "model_error" } });
  });

  it("is limited to a given collection, and to those of the key", async () => {
    await mixed();
    const others = ids(10, 20).map((one) => one.id);
    expect((await follow("collection=other")).pages.flat()).toEqual(others);
    expect((await follow("collection=other&limit=3")).pages.flat()).toEqual(others);
    expect((await follow("collection=none")).pages).toEqual([]);
    const api = await testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, { collections: ["other"] })])) });
    expect((await follow("", api)).pages.flat()).toEqual(others);
    expect((await follow("collection=default", api)).pages).toEqual([]);
  });

  it("leaves out deleted documents, and gives retried ones when they end again", async () => {
    const { submission } = await failed(ids(0, 3));
    await deleteDocument(db(), { collection: "default", id: "d0" }, NOW);
    await env.DB.prepare("UPDATE outcomes SET code = 'no_answer' WHERE document_id = 'd1'").run();
    await ask(`/v1/submissions/${submission}/retry?code=no_answer`, { method: "POST" });
    const { pages, cursor } = await follow();
    expect(pages).toEqual([["d2"]]);
    const again = (await env.DB.prepare("SELECT id FROM jobs WHERE due_at IS NOT NULL").first<JobId>("id")) ?? jobId();
    await dispatch(db(), again);
    await endJob(again, {
      status: "succeeded",
      outcomes: [scoresOf(submission, "d1")],
      children: [],
      tokens: 1,
      error: null,
    });
    expect((await follow("", undefined, cursor)).pages).toEqual([["d1"]]);
  });

  it("skips any number of jobs that ended no document", async () => {
    for (let index = 0; index < 5; index += 1) {
      const { submission, job } = await recorded([{ id: `d${index}` }]);
      await dispatch(db(), job);
      const child = { id: jobId(), round: 2, members: [[submission, [`d${index}`]]], dueAt: NOW } as const;
      await endJob(job, { status: "succeeded", outcomes: [], children: [child], tokens: 1, error: null });
    }
    await scored([{ id: "last" }]);
    expect((await follow("limit=1")).pages).toEqual([["last"]]);
  });

  it("comes as NDJSON with the next page in Link", async () => {
    await mixed();
    const headers = { accept: "application/x-ndjson" };
    let path: string | null = "/v1/results?limit=10";
    const seen: string[] = [];
    for (let pages = 0; pages < 3 && path !== null; pages += 1) {
      const response: Response = await (await testApi()).fetch(path, { headers });
      expect(response.headers.get("content-type")).toBe("application/x-ndjson");
      const text = new TextDecoder().decode(await response.arrayBuffer());
      seen.push(
        ...text
          .trimEnd()
          .split("\n")
          .map((line) => (JSON.parse(line) as DocumentShape).id),
      );
      path = /^<(.*)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1] ?? null;
    }
    expect(seen).toEqual(inOrder);
  });

  it("waits for new documents as long as requested, and looks every two seconds", async () => {
    const api = await testApi();
    const page = await ask<FeedPage>("/v1/results?wait=5", {}, api);
    expect([page.data, api.slept]).toEqual([[], [2_000, 2_000, 1_000]]);
  });

  it("answers a waiting caller as soon as it finds a document", async () => {
    let looks = 0;
    const api = await testApi({
      sleep: async () => {
        looks += 1;
        if (looks === 2) await scored([{ id: "new" }]);
      },
    });
    const page = await ask<FeedPage>("/v1/results?wait=30", {}, api);
    expect([page.data.map((one) => one.id), looks]).toEqual([["new"], 2]);
  });

  it("starts at its end with from=now: an empty page at once, with a cursor", async () => {
    const early = await ask<FeedPage>("/v1/results?from=now");
    await mixed();
    expect((await follow("", undefined, early.next_cursor)).pages.flat()).toEqual(inOrder);
    const api = await testApi();
    const page = await ask<FeedPage>("/v1/results?from=now&wait=30&collection=default", {}, api);
    expect([page.data, api.slept]).toEqual([[], []]);
    expect((await follow("", undefined, page.next_cursor)).pages).toEqual([]);
    await failed([{ id: "late" }]);
    expect((await follow("", undefined, page.next_cursor)).pages).toEqual([["late"]]);
    const all = await ask<FeedPage>("/v1/results?from=start");
    expect(all.data.map((one) => one.id)).toEqual([...inOrder, "late"]);
  });

  it("starts at its end as NDJSON too, and Link continues from there", async () => {
    await mixed();
    const response = await (
      await testApi()
    ).fetch("/v1/results?from=now&limit=2", { headers: { accept: "application/x-ndjson" } });
    expect((await response.arrayBuffer()).byteLength).toBe(0);
    expect(response.headers.get("link")).toMatch(/^<\/v1\/results\?limit=2&cursor=[\w-]+>; rel="next"$/);
  });

  it("refuses from together with a cursor, and lists the allowed starts", async () => {
    const { next_cursor: cursor } = await ask<FeedPage>("/v1/results?from=now");
    const both = await refused(`/v1/results?from=now&cursor=${cursor}`);
    expect([both.response.status, both.problem.errors[0]?.pointer]).toEqual([422, "?from"]);
    expect((await refused("/v1/results?from=end")).problem.detail).toBe("?from: must be one of: start, now");
  });

  it.each(["?wait=31", "?wait=-1", "?cursor=rubbish", "?limit=0", "?collection=.", "?since=x"])(
    "refuses %s by name",
    async (query) => {
      const { response, problem } = await refused(`/v1/results${query}`);
      expect([response.status, problem.errors[0]?.pointer]).toEqual([422, query.split("=")[0]]);
    },
  );

  it("reads rows in proportion to the page, at any position", async () => {
    for (let index = 0; index < 40; index += 1) await scored(ids(index * 10, index * 10 + 10));
    const { cursor } = await follow();
    const { d1, counts } = countedDatabase(env.DB);
    const api = await testApi({ db: openDatabase(d1) });
    await ask(`/v1/results?cursor=${cursor}`, {}, api);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(10);
    counts.length = 0;
    await ask("/v1/results?from=now", {}, api);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(2);
    counts.length = 0;
    expect((await ask<FeedPage>("/v1/results?limit=50", {}, api)).data).toHaveLength(50);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(50 * 16 + 200);
  });
});
