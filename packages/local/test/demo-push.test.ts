import { Sluice } from "@sluice/client/library";
import { quietProgress } from "@sluice/client/progress";
import { describe, expect, it } from "vitest";
import { FakeApi, KEY } from "../../client/test/fake-api.ts";
import { jobOf, submissionOf } from "../../client/test/shapes.ts";
import { compareCounts } from "../src/demo/kill.ts";
import { pushFile } from "../src/demo/push-file.ts";
import { readBack, readJobsWithParents } from "../src/demo/read-back.ts";
import { refusedLines } from "../src/demo/refused.ts";
import { notSucceeded } from "../src/demo/report.ts";

const submission = "sub_01a22896-7c5c-71cc-b584-4f90670e70ac";
const counts = { total: 10, queued: 0, processing: 0, succeeded: 7, failed: 3, canceled: 0 };

describe("a push of the demo", () => {
  const file = { name: "file.ndjson", bytes: 60, unreadable: [{ line: 2, detail: "the line is not valid UTF-8" }] };
  const documents = ["fine", "not a document", "fine too"].map((query, index) => ({
    line: 1 + 3 * index,
    text: JSON.stringify(index === 1 ? query : { query, contexts: ["x"] }),
  }));
  const push = (api: FakeApi, lines: typeof documents) => {
    const client = new Sluice({ url: "http://sluice.test", key: KEY, fetch: api.fetch });
    const signal = new AbortController().signal;
    return pushFile(client, { ...file, documents: lines }, { key: "k", progress: quietProgress(() => {}), signal });
  };

  it("sends each line unchanged in the bulk lane, and locates refused lines", async () => {
    const api = new FakeApi();
    expect(await push(api, documents)).toMatchObject({
      ok: true,
      value: {
        accepted: 2,
        refusedCount: 2,
        refused: [
          { line: 2, detail: "the line is not valid UTF-8" },
          { line: 4, detail: "query must be a string" },
        ],
      },
    });
    const [request] = api.received;
    expect(request?.text).toBe(documents.map(({ text }) => `${text}\n`).join(""));
    expect(request?.url.searchParams.get("lane")).toBe("bulk");
    expect(request?.headers.get("idempotency-key")).toBe("k");
  });

  it("returns the API's message if nothing is accepted", async () => {
    const refused = await push(new FakeApi(), documents.slice(1, 2));
    expect(refused).toEqual({
      ok: false,
      error: "Detail of nothing-acceptable.\n  line 2: the line is not valid UTF-8\n  line 4: query must be a string",
    });
  });

  it("lists the first of many refused lines", () => {
    const refused = Array.from({ length: 7 }, (_, line) => ({ line, detail: "no\nquery" }));
    expect(refusedLines(refused).slice(4)).toEqual(["  line 4: no query", "  and 2 more"]);
  });

  it("reports why documents failed and what to do", () => {
    const lines = notSucceeded({
      ...submissionOf(submission, [], new URLSearchParams(), "completed"),
      counts,
      failures: { model_error: 2, invalid_input: 1 },
    });
    expect(lines).toEqual([
      expect.stringMatching(/^2 documents failed: model_error\. .*POST \/v1\/submissions\/sub_\S+\/retry$/),
      expect.stringMatching(/^1 document failed: invalid_input\. .*Fix these documents/),
    ]);
  });
});

describe("the read-back", () => {
  it("counts all documents and finds their jobs and the jobs these replace", async () => {
    const api = new FakeApi();
    const client = new Sluice({ url: "http://sluice.test", key: KEY, fetch: api.fetch });
    const documents = ["a", "fail", "b"].map((query, n) => ({ id: `d${n}`, query, contexts: ["x", "y"] }));
    const { submissions } = await client.push(documents);
    const id = submissions[0]?.id ?? "";
    const signal = new AbortController().signal;
    expect(await readBack(client, id, signal)).toMatchObject({ documents: 3, ended: 0 });
    await client.wait(id);
    expect(await readBack(client, id, signal)).toEqual({
      documents: 3,
      ended: 3,
      scores: 4,
      jobIds: new Set(["job_1"]),
    });

    const parents = new Map([
      ["half", "whole"],
      ["other half", "whole"],
      ["whole", "before"],
    ]);
    const job = async (name: string) => jobOf({ id: name, parent_id: parents.get(name) ?? null });
    const jobs = await readJobsWithParents({ job }, ["half", "other half"], signal);
    expect(jobs.map((one) => one.id)).toEqual(["half", "other half", "whole", "before"]);
  });

  it("is compared with the counts at a kill", () => {
    const open = submissionOf(submission, [], new URLSearchParams(), "processing");
    const at = { ...open, counts: { ...counts, queued: 4, processing: 5, succeeded: 1, failed: 0 } };
    const end = { ...open, counts, failures: { message_lost: 3 } };
    const compared = compareCounts(at, end, { documents: 7, ended: 7 });
    expect(compared).toEqual({
      line:
        "kept        6 documents recorded before the kill. The API lists 7, 7 of them ended, and counts 7: " +
        "nothing lost, nothing counted twice",
      holds: true,
    });
    const wrong = [
      { documents: 5, ended: 5 },
      { documents: 7, ended: 6 },
      { documents: 8, ended: 8 },
    ];
    for (const back of wrong)
      expect(compareCounts(at, end, back)).toMatchObject({
        holds: false,
        line: expect.stringContaining("the counts do not agree"),
      });
  });
});
