import { describe, expect, it } from "vitest";
import { dispatch } from "@sluice/pipeline/test-support/fixtures.ts";
import type { DocumentShape } from "../src/shapes/document.ts";
import { ask, db, documentPath, endJob, ids, limited, recorded, refused, rows, scored, scoresOf } from "./stored.ts";

describe("deleting a document", () => {
  it("deletes all its versions from every read", async () => {
    const first = await scored([{ id: "a" }, { id: "b" }]);
    await scored([{ id: "a" }]);
    expect(await ask(documentPath("a"), { method: "DELETE" })).toEqual({ deleted: 2 });
    expect((await refused(documentPath("a"))).response.status).toBe(404);
    expect((await refused(documentPath("a"), { method: "DELETE" })).response.status).toBe(404);
    const results = await ask<{ data: DocumentShape[] }>(`/v1/submissions/${first.submission}/results`);
    expect(results.data.map((one) => one.id)).toEqual(["b"]);
    expect((await ask<{ data: DocumentShape[] }>("/v1/results")).data.map((one) => one.id)).toEqual(["b"]);
    expect(await rows("SELECT DISTINCT document_id FROM scores")).toEqual([{ document_id: "b" }]);
  });

  it("in progress counts it as canceled, and drops its answer", async () => {
    const { submission, job } = await recorded(ids(0, 2));
    await dispatch(db(), job);
    await ask(documentPath("d0"), { method: "DELETE" });
    const outcomes = ids(0, 2).map(({ id }) => scoresOf(submission, id));
    await endJob(job, { status: "succeeded", outcomes, children: [], tokens: 1, error: null });
    expect(await ask(`/v1/submissions/${submission}`)).toMatchObject({
      status: "completed",
      counts: { total: 2, succeeded: 1, canceled: 1 },
    });
    expect((await refused(documentPath("d0"))).response.status).toBe(404);
  });

  it("in another collection is 404 and deletes nothing", async () => {
    await scored([{ id: "a" }], { collection: "other" });
    const { response } = await refused(documentPath("a", "other"), { method: "DELETE" }, await limited());
    expect(response.status).toBe(404);
    expect(await ask(documentPath("a", "other"))).toMatchObject({ id: "a" });
  });
});
