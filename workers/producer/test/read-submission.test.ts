import type { SubmissionId } from "@sluice/core";
import { describe, expect, it } from "vitest";
import { dispatch, jobId, open, part, record, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import type { SubmissionShape } from "../src/shapes/submission.ts";
import { NOW, testApi, type ProblemBody } from "./api.ts";
import { ask, db, dispatchAndEnd, recorded, type Page } from "./stored.ts";

describe("GET a submission", () => {
  it("counts its documents by status", async () => {
    const submission = await open(db(), { total: 3 });
    const path = `/v1/submissions/${submission}`;
    expect(await ask<SubmissionShape>(path)).toMatchObject({
      status: "queued",
      counts: { total: 3, queued: 3, processing: 0 },
    });
    const job = jobId();
    await record(db(), job, [[part(submission, 0, [{ id: "a" }, { id: "b" }])]]);
    expect(await ask<SubmissionShape>(path)).toMatchObject({
      status: "processing",
      counts: { total: 3, queued: 1, processing: 2 },
    });
    await succeed(db(), job, await dispatch(db(), job));
    expect(await ask<SubmissionShape>(path)).toMatchObject({
      status: "processing",
      counts: { total: 3, queued: 1, processing: 0, succeeded: 2 },
      usage: { tokens: 1_000, jobs: 1, unconfirmed_dispatches: 0 },
      completed_at: null,
    });
  });

  it.each(["sub_1", "sub_01999999-0000-7000-8000-000000000000", "..%2f..", "job_01999999-0000-7000-8000-000000000000"])(
    "is 404 for the unknown id %s",
    async (id) => {
      expect((await (await testApi()).fetch(`/v1/submissions/${id}`)).status).toBe(404);
    },
  );

  it("refuses a query parameter by name", async () => {
    const response = await (await testApi()).fetch("/v1/submissions/sub_1?status=x");
    expect(response.status).toBe(422);
  });
});

describe("the list of submissions", () => {
  it("gives submissions newest first, page by page", async () => {
    const ids: SubmissionId[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await open(db(), { label: `l${index}` }, NOW + index));
    const seen: string[] = [];
    let query = "?limit=2";
    for (let pages = 0; pages < 3; pages += 1) {
      const page = await ask<Page<SubmissionShape>>(`/v1/submissions${query}`);
      expect(page.data).toHaveLength(pages === 2 ? 1 : 2);
      seen.push(...page.data.map((one) => one.id));
      query = `?limit=2&cursor=${page.next_cursor ?? ""}`;
      expect(page.next_cursor === null).toBe(pages === 2);
    }
    expect(seen).toEqual(ids.toReversed());
  });

  it("counts failures per submission", async () => {
    const failing = async (code: "model_error" | "too_large") => {
      const { submission, job } = await recorded([{ id: code }]);
      await dispatchAndEnd(job, {
        status: "failed",
        outcomes: [{ submission, document: code, code, message: "m" }],
        children: [],
        tokens: null,
        error: null,
      });
    };
    await failing("model_error");
    await failing("too_large");
    const page = await ask<Page<SubmissionShape>>("/v1/submissions");
    expect(page.data.map((one) => one.failures)).toEqual([{ too_large: 1 }, { model_error: 1 }]);
  });

  it.each([
    ["?limit=0", "?limit"],
    ["?limit=1001", "?limit"],
    ["?limit=ten", "?limit"],
    ["?cursor=rubbish", "?cursor"],
    ["?cursor=%00", "?cursor"],
    [`?cursor=${btoa('{"before":"sub_1"}')}`, "?cursor"],
    [`?cursor=${btoa('{"part":0,"index":1}')}`, "?cursor"],
    ["?state=queued", "?state"],
  ])("refuses %s by name", async (query, pointer) => {
    const response = await (await testApi()).fetch(`/v1/submissions${query}`);
    expect(response.status).toBe(422);
    expect(((await response.json()) as ProblemBody).errors[0]?.pointer).toBe(pointer);
  });
});
