import { env } from "cloudflare:test";
import { openDatabase } from "@sluice/db";
import { countDocuments } from "@sluice/pipeline/document/sql/read-collection.ts";
import { describe, expect, it } from "vitest";
import { countedDatabase } from "@sluice/pipeline/test-support/counted-database.ts";
import { jobId, open, part, record } from "@sluice/pipeline/test-support/fixtures.ts";
import type { CollectionShape, DeletionShape } from "../src/shapes/collection.ts";
import { parseKeys, type Scope } from "../src/http/keys.ts";
import { KEY, keyRecord, NOW, pushNdjson, testApi, type TestApi } from "./api.ts";
import { lines, problem, queuesUntil, sendLines } from "./keyed-push.ts";
import { ask, at, db, documentPath, failed, ids, limited, recorded, refused, rows, scored } from "./stored.ts";

const path = (collection = "default") => `/v1/collections/${collection}`;
const remove = (collection = "default", api?: TestApi) =>
  ask<DeletionShape>(path(collection), { method: "DELETE" }, api);

describe("a collection", () => {
  it("is counted by the status of the newest version of each recorded document", async () => {
    await failed(ids(0, 2));
    await scored(ids(0, 1));
    await scored(ids(5, 8));
    await recorded(ids(7, 10));
    await scored(ids(0, 2), { collection: "other" });
    expect(await ask(path())).toEqual({
      collection: "default",
      counts: { total: 7, processing: 3, succeeded: 3, failed: 1, canceled: 0 },
      counted_all: true,
      deletion: null,
    });
  });

  it("that is large is counted in part, with a bounded number of rows read", async () => {
    await scored(ids(0, 60));
    const reads = async (limit: number) => {
      const { d1, counts } = countedDatabase(env.DB);
      const counted = await countDocuments(openDatabase(d1), "default", limit);
      expect(counted).toMatchObject({ versions: Math.min(limit, 60), succeeded: Math.min(limit, 60) });
      return counts.reduce((sum, one) => sum + one.read, 0);
    };
    expect(await reads(10)).toBeLessThanOrEqual(4 * 10);
    expect(await reads(50)).toBeLessThanOrEqual(4 * 50);
  });

  it("is 404 if nothing was ever pushed into it, and known while its documents are in the Queue", async () => {
    await scored(ids(0, 2));
    for (const method of ["GET", "DELETE"])
      expect((await refused(path("none"), { method })).problem.type).toBe("/problems/not-found");
    const api = await testApi();
    await pushNdjson(api, lines(1), "?collection=fresh");
    expect(await ask(path("fresh"))).toMatchObject({ counts: { total: 0 }, counted_all: true });
  });

  it("is 404 for the key of another collection, and not deleted without the scope admin", async () => {
    await scored(ids(0, 1));
    const api = await limited();
    for (const method of ["GET", "DELETE"]) expect((await refused(path(), { method }, api)).response.status).toBe(404);
    const scopes: Scope[] = ["ingest", "read"];
    const reader = await testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, { scopes })])) });
    expect((await refused(path(), { method: "DELETE" }, reader)).response.status).toBe(403);
    expect(await ask(documentPath("d0"))).toMatchObject({ id: "d0" });
    expect(await ask(path(), {}, reader)).toMatchObject({ counts: { total: 1 }, deletion: null });
  });
});

describe("deleting a collection", () => {
  it("answers 202 with the progress, and later pushes stay", async () => {
    await scored(ids(0, 3));
    const { submission } = await recorded(ids(3, 5), {}, NOW + 1);
    const response = await (await testApi()).fetch(path(), { method: "DELETE" });
    expect(response.status).toBe(202);
    const deletion = await response.json();
    expect(deletion).toEqual({
      requested_at: at(NOW),
      through: submission,
      deleted_documents: 5,
      completed_at: at(NOW),
    });
    await scored(ids(4, 6), {}, NOW + 2);
    expect(await ask<CollectionShape>(path())).toEqual({
      collection: "default",
      counts: { total: 2, processing: 0, succeeded: 2, failed: 0, canceled: 0 },
      counted_all: true,
      deletion,
    });
    expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({
      status: "canceled",
      counts: { total: 2, canceled: 2 },
    });
    expect((await refused(documentPath("d0"))).response.status).toBe(404);
  });

  it("takes a few steps, in at most 50 statements, and leaves the others to the poller", async () => {
    const submission = await open(db(), { total: 130 });
    // Each part has its own row of texts, and a step deletes 40 of them.
    const parts = ids(0, 130).map((one, index) => part(submission, index, [one], index));
    await record(db(), jobId(), [parts.slice(0, 65), parts.slice(65)]);
    const { d1, counts } = countedDatabase(env.DB);
    const started = await remove("default", await testApi({ db: openDatabase(d1) }));
    expect(started).toMatchObject({ deleted_documents: 120, completed_at: null });
    expect(counts.length).toBeLessThanOrEqual(50);
    expect(await ask(path())).toMatchObject({ counts: { total: 10, processing: 10 }, deletion: started });
  });

  it("ends a push in progress with 409, and its key cannot resume it", async () => {
    let deletion: DeletionShape | null = null;
    const queue = {
      sendBatch: async () => {
        deletion ??= await remove();
      },
    };
    const api = await testApi({ queues: { interactive: queue, bulk: queue } });
    const response = await sendLines(api, "k", lines(60));
    expect(response.status).toBe(409);
    const { type, detail, submission } = await problem(response);
    expect([type, detail]).toEqual(["/problems/conflict", expect.stringMatching(/collection was deleted/)]);
    expect(deletion).toMatchObject({ through: submission });
    const again = await sendLines(api, "k", lines(60));
    expect(again.status).toBe(409);
    expect((await problem(again)).detail).toMatch(/collection was deleted/);
    expect(await rows("SELECT incomplete, cancel_requested_at FROM submissions")).toEqual([
      { incomplete: 1, cancel_requested_at: NOW },
    ]);
    expect((await sendLines(api, "another", lines(60))).status).toBe(202);
  });

  it("ends an interrupted push, whose key is then answered 409", async () => {
    const { queues } = queuesUntil(2);
    await sendLines(await testApi({ queues }), "k", lines(60));
    await remove();
    const again = await sendLines(await testApi(), "k", lines(60));
    expect(again.status).toBe(409);
    expect((await problem(again)).detail).toMatch(/collection was deleted/);
  });
});
