import { env } from "cloudflare:test";
import type { SubmissionId } from "@sluice/core";
import { openDatabase } from "@sluice/db";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { dispatch, jobId, open, part, record, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import type { DocumentShape } from "../src/shapes/document.ts";
import { testApi, type ProblemBody } from "./api.ts";
import { ask, db, dispatchAndEnd, ids, scored, type Page } from "./stored.ts";

/** A body of any type as text. */
const text = async (response: Response) => new TextDecoder().decode(await response.arrayBuffer());

describe("the results of a submission", () => {
  /** 30 documents in three parts; those of the second failed, those of the third are in progress. */
  async function mixed(): Promise<SubmissionId> {
    const submission = await open(db(), { total: 30 });
    const jobs = [jobId(), jobId(), jobId()] as const;
    for (const [number, job] of jobs.entries()) {
      await record(db(), job, [[part(submission, number, ids(number * 10, number * 10 + 10), number * 10)]]);
    }
    await succeed(db(), jobs[0], await dispatch(db(), jobs[0]));
    const outcomes = ids(10, 20).map(
      ({ id }) => ({ submission, document: id, code: "model_error", message: "m" }) as const,
    );
    await dispatchAndEnd(jobs[1], { status: "failed", outcomes, children: [], tokens: null, error: null });
    return submission;
  }

  async function pages(path: string): Promise<string[][]> {
    const all: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: Page<DocumentShape> = await ask(`${path}${cursor === "" ? "" : `&cursor=${cursor}`}`);
      all.push(page.data.map((one) => one.id));
      cursor = page.next_cursor;
    }
    return all;
  }

  it("come in the order of the push, page by page, each once", async () => {
    const submission = await mixed();
    const all = await pages(`/v1/submissions/${submission}/results?limit=7`);
    expect(all.map((page) => page.length)).toEqual([7, 7, 7, 7, 2]);
    expect(all.flat()).toEqual(ids(0, 30).map((one) => one.id));
    expect(await pages(`/v1/submissions/${submission}/results?limit=30`)).toHaveLength(1);
  });

  it("can be filtered by status, over all parts", async () => {
    const submission = await mixed();
    const of = async (status: string) =>
      (await pages(`/v1/submissions/${submission}/results?limit=4&status=${status}`)).flat();
    expect(await of("succeeded")).toEqual(ids(0, 10).map((one) => one.id));
    expect(await of("failed")).toEqual(ids(10, 20).map((one) => one.id));
    expect(await of("processing")).toEqual(ids(20, 30).map((one) => one.id));
    expect(await of("canceled")).toEqual([]);
  });

  it.each([
    ["application/json, application/x-ndjson", "application/x-ndjson"],
    ["application/jsonl;q=0.5, application/json;q=0.4", "application/x-ndjson"],
    ["application/json, application/x-ndjson;q=0.9", "application/json"],
    ["application/x-ndjson;q=0", "application/json"],
    ["*/*", "application/json"],
  ])("with Accept: %s are %s", async (accept, type) => {
    const { submission } = await scored(ids(0, 1));
    const api = await testApi();
    const response = await api.fetch(`/v1/submissions/${submission}/results`, { headers: { accept } });
    expect(response.headers.get("content-type")).toBe(type);
    await text(response);
  });

  it("come complete as NDJSON in the same shape", async () => {
    const submission = await mixed();
    const response = await (
      await testApi()
    ).fetch(`/v1/submissions/${submission}/results?include=text&top_k=1`, {
      headers: { accept: "text/html, application/x-ndjson;q=0.9" },
    });
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = (await text(response))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as DocumentShape);
    expect(lines.map((one) => one.id)).toEqual(ids(0, 30).map((one) => one.id));
    expect(lines[0]?.scores).toEqual([
      { rank: 1, score: 0.75, context_id: "1", context_index: 1, text: "two", text_expired_at: null },
    ]);
    const { data } = await ask<Page<DocumentShape>>(`/v1/submissions/${submission}/results?include=text&top_k=1`);
    expect(lines).toEqual(data);
  });

  it("continue after a given document, in pages and as NDJSON", async () => {
    const submission = await mixed();
    const path = `/v1/submissions/${submission}/results`;
    const [, , , last] = ids(0, 30);
    const rest = ids(4, 30).map((one) => one.id);
    expect((await pages(`${path}?limit=7&after=${last?.id}`)).flat()).toEqual(rest);
    const stream = await (
      await testApi()
    ).fetch(`${path}?after=${last?.id}`, { headers: { accept: "application/x-ndjson" } });
    const lines = (await text(stream)).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as DocumentShape).id)).toEqual(rest);
    expect((await pages(`${path}?after=${ids(29, 30)[0]?.id}`)).flat()).toEqual([]);
    const refused = async (after: string) => {
      const response = await (await testApi()).fetch(`${path}?after=${after}`);
      return ((await response.json()) as ProblemBody).errors[0];
    };
    expect((await refused("nobody"))?.pointer).toBe("?after");
    for (const after of ["", ".", "a".repeat(257)]) {
      expect(await refused(after)).toEqual({
        pointer: "?after",
        detail: "must be the id of a document of the results: omit it to start over",
      });
    }
  });

  it("as NDJSON stop at the limit, and are empty if nothing is recorded", async () => {
    const submission = await mixed();
    const read = async (path: string) => {
      const response = await (await testApi()).fetch(path, { headers: { accept: "application/x-ndjson" } });
      return (await text(response)).split("\n").filter((line) => line !== "");
    };
    expect(await read(`/v1/submissions/${submission}/results?limit=3`)).toHaveLength(3);
    expect(await read(`/v1/submissions/${await open(db())}/results`)).toEqual([]);
  });

  it("as NDJSON are read from D1 as the reader consumes them, and no further after it left", async () => {
    const submission = await open(db(), { total: 5_000 });
    for (let number = 0; number < 10; number += 1) {
      await record(db(), jobId(), [[part(submission, number, ids(number * 500, number * 500 + 500), number * 500)]]);
    }
    const { d1, counts } = countedDatabase(env.DB);
    const response = await (
      await testApi({ db: openDatabase(d1) })
    ).fetch(`/v1/submissions/${submission}/results`, { headers: { accept: "application/x-ndjson" } });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const asked = counts.length;
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value).trimEnd().split("\n")).toHaveLength(1_000);
    const page = counts.length - asked;
    await reader.read();
    expect(counts.length).toBe(asked + 2 * page);
    await reader.cancel();
    // What would go on by itself does so within a few turns.
    for (let turns = 0; turns < 20; turns += 1) await db().run("SELECT 1");
    expect(counts.length).toBe(asked + 2 * page);
  });

  it("read rows in proportion to the documents of the page, in any state", async () => {
    const submission = await open(db(), { total: 800 });
    const jobs = [jobId(), jobId()] as const;
    await record(db(), jobs[0], [[part(submission, 0, ids(0, 400))]]);
    await record(db(), jobs[1], [[part(submission, 1, ids(400, 800), 400)]]);
    await succeed(db(), jobs[0], await dispatch(db(), jobs[0]));
    const { d1, counts } = countedDatabase(env.DB);
    const response = await (
      await testApi({ db: openDatabase(d1) })
    ).fetch(`/v1/submissions/${submission}/results?limit=1000`);
    expect(((await response.json()) as Page<DocumentShape>).data).toHaveLength(800);
    expect(counts.reduce((sum, count) => sum + count.read, 0)).toBeLessThanOrEqual(800 * 13);
  });

  it("keep a page near 4 MB, whatever the limit", async () => {
    const submission = await open(db(), { total: 8 });
    const big = Array.from({ length: 8 }, (_, index) => ({ id: `d${index}`, query: "q".repeat(900_000) }));
    for (const [number, document] of big.entries())
      await record(db(), jobId(), [[part(submission, number, [document], number)]]);
    const all = await pages(`/v1/submissions/${submission}/results?limit=1000`);
    expect(all.map((page) => page.length)).toEqual([5, 3]);
  });

  it.each(["?status=done", "?cursor=rubbish", "?limit=0", "?order=asc"])("refuse %s by name", async (query) => {
    const submission = await open(db());
    const response = await (await testApi()).fetch(`/v1/submissions/${submission}/results${query}`);
    expect(response.status).toBe(422);
    expect(((await response.json()) as ProblemBody).errors[0]?.pointer).toBe(query.split("=")[0]);
  });

  it("of an unknown submission are 404", async () => {
    const path = "/v1/submissions/sub_01999999-0000-7000-8000-000000000000/results";
    expect((await (await testApi()).fetch(path)).status).toBe(404);
  });
});
