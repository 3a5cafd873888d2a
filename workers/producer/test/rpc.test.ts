import { exports } from "cloudflare:workers";
import { createExecutionContext, env } from "cloudflare:test";
import type { DocumentIn, SluiceService } from "@sluice/client/types";
import { describe, expect, it } from "vitest";
import { dispatch, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import type { Env } from "../src/env.ts";
import { Sluice } from "../src/rpc.ts";
import { db, ids, recorded, scored } from "./stored.ts";

// The entrypoint as another Worker's service binding has it.
const sluice = (exports as unknown as { readonly Sluice: SluiceService }).Sluice;

const FRANCE: DocumentIn = { id: "one", query: "capital of France", contexts: ["Paris", { id: "b", text: "Bananas" }] };
/** The error of a call. It is awaited here, since an RPC promise is more than a promise. */
async function thrown(call: () => Promise<unknown>): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
const submissions = async () =>
  (await env.DB.prepare("SELECT count(*) AS n FROM submissions").first<{ n: number }>())?.n;

describe("over RPC", () => {
  it("a document and a list with options are pushed", async () => {
    const one = await sluice.push(FRANCE);
    expect(one).toMatchObject({ accepted: 1, documents: [{ id: "one" }], submission: { lane: "interactive" } });
    const many = await sluice.push([FRANCE, { ...FRANCE, id: "two" }], { collection: "c", label: "l", lane: "bulk" });
    expect(many.submission).toMatchObject({ collection: "c", label: "l", lane: "bulk", counts: { total: 2 } });
  });

  it("a stream of NDJSON is pushed, each line by itself", async () => {
    const text = `${JSON.stringify(FRANCE)}\nbad\n`;
    const answer = await sluice.push(new Blob([text]).stream(), { collection: "c" });
    expect(answer).toMatchObject({
      accepted: 1,
      rejected_count: 1,
      rejected: [{ line: 2 }],
      submission: { collection: "c" },
    });
  });

  it("a collection is counted and deleted", async () => {
    await scored(ids(0, 2));
    expect(await sluice.collection("default")).toMatchObject({ counts: { total: 2, succeeded: 2 }, deletion: null });
    expect(await sluice.deleteCollection("default")).toMatchObject({ deleted_documents: 2 });
    expect(await sluice.collection("default")).toMatchObject({
      counts: { total: 0 },
      deletion: { deleted_documents: 2 },
    });
    expect(await sluice.collection("none")).toBeNull();
    expect(await sluice.deleteCollection("none")).toBeNull();
  });

  it("stats are read, with the scorer", async () => {
    await scored(ids(0, 2));
    expect(await sluice.stats()).toMatchObject({ scorer: "workers-ai", lanes: { bulk: { succeeded: 2 } } });
  });

  it("an idempotency key replays the first answer", async () => {
    const first = await sluice.push([FRANCE], { idempotencyKey: 'k, "1"' });
    const again = await sluice.push([FRANCE], { idempotencyKey: 'k, "1"' });
    expect([again, await submissions()]).toEqual([first, 1]);
    const other = await thrown(() => sluice.push([{ ...FRANCE, query: "other" }], { idempotencyKey: 'k, "1"' }));
    expect(other).toMatchObject({ name: "Error", message: expect.stringMatching(/^idempotency-key-reused: /) });
  });

  it("bad input throws an error with a pointer", async () => {
    const refused = await thrown(() => sluice.push([{ ...FRANCE, contexts: [] }]));
    expect(refused).toMatchObject({ name: "Error", message: expect.stringContaining("/documents/0/contexts") });
    expect(await submissions()).toBe(0);
  });

  it("bad options throw an error that names them, for every method that has options", async () => {
    const messages = async (...calls: (() => Promise<unknown>)[]) => {
      const errors: unknown[] = [];
      for (const call of calls) errors.push(await thrown(call));
      return errors.map((error) => (error as Error).message);
    };
    const lines = () => new Blob([JSON.stringify(FRANCE)]).stream();
    expect(
      await messages(
        () => sluice.push(FRANCE, { collection: "a/b" }),
        () => sluice.push(lines(), { collection: "a/b" }),
        () => sluice.push(lines(), { priority: 1 } as object),
        () => sluice.push(FRANCE, { idempotencyKey: "é" }),
        () => sluice.document("default", "one", { topK: 0 }),
        () => sluice.results("sub_1", { limit: 1_001 }),
        () => sluice.malformed({ cursor: "x" }),
        () => sluice.document("default", "one", { topk: 1 } as object),
        () => sluice.results("sub_1", { include: ["texts"] } as object),
        () => sluice.malformed({ queue: "x" } as object),
      ),
    ).toEqual([
      'invalid: /collection: collection must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and not "." or ".."',
      'invalid: ?collection: collection must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and not "." or ".."',
      "invalid: ?priority: unknown query parameter; allowed here: collection, model, lane, label, truncate_inputs",
      "invalid: the header Idempotency-Key must have 1 to 255 characters of printable ASCII, from the space to ~",
      "invalid: ?top_k: must be a whole number from 1 to 1000",
      "invalid: ?limit: must be a whole number from 1 to 1000",
      "invalid: ?cursor: is not a cursor of this list: pass next_cursor unchanged",
      "invalid: ?topk: unknown query parameter; allowed here: top_k, include",
      "invalid: ?include: must be a list of: text, metadata, separated by commas",
      "invalid: ?queue: unknown query parameter; allowed here: limit, cursor",
    ]);
    expect(await submissions()).toBe(0);
  });

  it("an id that is not a string throws an error, for every method that has one", async () => {
    const missing = undefined as unknown as string;
    const calls = [
      () => sluice.document("default", missing),
      () => sluice.results(missing),
      () => sluice.submission(missing),
      () => sluice.cancel(7 as unknown as string),
      () => sluice.replayMalformed(missing),
      () => sluice.discardMalformed(missing),
    ];
    for (const call of calls) expect(await thrown(call)).toMatchObject({ message: "invalid: {id}: must be a string" });
    expect(await thrown(() => sluice.document(missing, "one"))).toMatchObject({
      message: "invalid: {collection}: must be a string",
    });
  });

  it("a document, a submission and its results are read; null stands for not found", async () => {
    const { submission } = await scored(ids(0, 3));
    expect(await sluice.document("default", "d1", { topK: 1, include: ["text"] })).toMatchObject({
      id: "d1",
      scores: [{ rank: 1, text: "two" }],
    });
    expect(await sluice.submission(submission)).toMatchObject({ id: submission, status: "completed" });
    const page = await sluice.results(submission, { limit: 2, status: "succeeded" });
    expect(page?.data.map((one) => one.id)).toEqual(["d0", "d1"]);
    const rest = await sluice.results(submission, { cursor: page?.next_cursor ?? "" });
    expect(rest?.data.map((one) => one.id)).toEqual(["d2"]);
    expect([
      await sluice.document("default", "no"),
      await sluice.submission("no"),
      await sluice.results("no"),
      await sluice.cancel("no"),
    ]).toEqual([null, null, null, null]);
  });

  it.each([
    [
      "D1_ERROR: Network connection lost.",
      /^unavailable: The database is temporarily unavailable: .* request_id: \S+$/,
    ],
    ["D1_ERROR: no such table: documents", /^internal: The request failed because of an error in Sluice\..* \S+$/],
  ])(
    "an exception is the problem that HTTP answers with, and no text of it is shown: %s",
    async (thrownText, message) => {
      const prepare = () => {
        throw new Error(thrownText);
      };
      const broken = { ...env, DB: { prepare, batch: prepare } } as unknown as Env;
      const entrypoint = new Sluice(createExecutionContext(), broken);
      expect(await thrown(() => entrypoint.document("default", "one"))).toMatchObject({
        message: expect.stringMatching(message),
      });
    },
  );

  it("a submission is canceled", async () => {
    const { submission, job } = await recorded(ids(0, 1));
    expect(await sluice.cancel(submission)).toMatchObject({ id: submission, status: "canceling" });
    await succeed(db(), job, await dispatch(db(), job).catch(() => []));
    expect(await sluice.submission(submission)).toMatchObject({ status: "canceled", counts: { canceled: 1 } });
  });
});
