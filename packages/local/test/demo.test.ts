import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SubmissionId } from "@sluice/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { costItems, describeMillion } from "../src/demo/cost.ts";
import { cut, dollars } from "../src/demo/figures.ts";
import { rejectedPlaces } from "../src/demo/push-and-follow.ts";
import { documentName, readFile } from "../src/demo/read-file.ts";
import { notSucceeded } from "../src/demo/tell.ts";

const submission = "sub_01a22896-7c5c-71cc-b584-4f90670e70ac" as SubmissionId;
const counts = { total: 10, queued: 0, processing: 0, succeeded: 7, failed: 3, canceled: 0 };

describe("the file of a demo", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "sluice-file-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const read = (text: string | Uint8Array) => {
    const path = join(folder, "file.ndjson");
    writeFileSync(path, text);
    return readFile(path, "file.ndjson");
  };

  it("gives documents their places as the producer counts them: blank lines have none, refused ones have", () => {
    const file = read(
      '{"query":"a","contexts":["x"]}\r\n\n \nnot json\n{"query":"b","contexts":["x",{"id":"i","text":"y"}]}',
    );
    if (!file.ok) throw new Error(file.error);
    expect(file.value.documents).toMatchObject([
      { place: 0, query: "a", contexts: ["x"] },
      { place: 2, query: "b", contexts: ["x", "y"] },
    ]);
    expect(file.value.documents.map((document) => documentName(document, submission))).toEqual([
      `${submission}-0`,
      `${submission}-2`,
    ]);
  });

  it("keeps its bytes, be they UTF-8 or not: to judge them is the producer's task", () => {
    const bytes = Buffer.concat([
      Buffer.from('{"query":"caf'),
      Buffer.from([0xe9]),
      Buffer.from('","contexts":["x"]}\n{"query":"b","contexts":["y"]}\n'),
    ]);
    const file = read(bytes);
    if (!file.ok) throw new Error(file.error);
    expect(file.value.bytes.equals(bytes)).toBe(true);
    expect(file.value.documents).toMatchObject([{ place: 1, query: "b" }]);
  });

  it.each([
    ["one line", '\uFEFF{"query":"a","contexts":["x"]}', ["a"]],
    [
      "several that end in CRLF",
      '\uFEFF{"query":"a","contexts":["x"]}\r\n{"query":"b","contexts":["x"]}\r\n',
      ["a", "b"],
    ],
  ])("may begin with a byte order mark: %s", (_, text, queries) => {
    const file = read(text);
    if (!file.ok) throw new Error(file.error);
    expect(file.value.documents.map(({ place, query }) => [place, query])).toEqual(
      queries.map((query, place) => [place, query]),
    );
  });

  it.each([
    ["", "file.ndjson is empty"],
    ["\n \n", "file.ndjson is empty"],
    ["hello\n", "file.ndjson holds no document"],
    ['[{"query":"a","contexts":["x"]}]', "file.ndjson holds no document"],
  ])("is refused in one line when it is %j", (text, line) => {
    const file = read(text);
    expect(file).toEqual({ ok: false, error: expect.stringContaining(line) });
    expect(JSON.stringify(file)).not.toContain(String.raw`\n`);
  });

  it.each([
    ["missing.ndjson", "there is no such file"],
    [".", "it is a folder"],
  ])("is refused in one line when it is %s", (name, line) => {
    expect(readFile(join(folder, name), name)).toEqual({ ok: false, error: `${name} cannot be read: ${line}` });
  });
});

describe("a push of the demo", () => {
  it("knows the places of refused lines, which count blank lines where places do not", () => {
    const rejected = [
      { line: 3, detail: "" },
      { line: 4, detail: "" },
    ];
    expect(rejectedPlaces(Buffer.from("\uFEFFa\n\nb\nc\nd"), rejected)).toEqual(new Set([1, 2]));
  });

  it("tells why documents failed and what to do about it", () => {
    const lines = notSucceeded({
      id: submission,
      status: "completed",
      counts,
      failures: { model_error: 2, invalid_input: 1 },
      stalled: null,
      usage: { tokens: 0, jobs: 1 },
    });
    expect(lines).toEqual([
      expect.stringMatching(/^2 documents failed: model_error\. .*POST \/v1\/submissions\/sub_\S+\/retry$/),
      expect.stringMatching(/^1 document failed: invalid_input\. .*Change these documents/),
    ]);
  });
});

describe("the cost of a push", () => {
  const push = { submission, ended: 10, tokens: 1_000_000 };
  const job = { dispatches: 1, again: 0, tokens: 1_000_000 };

  it("counts an operation for each 64 KB of a message written, read and deleted", () => {
    const parts = [
      { documents: 5, bytes: 64_000, textRow: 7 },
      { documents: 5, bytes: 64_001, textRow: 7 },
    ];
    const [queues, d1, workers, model] = costItems(push, parts, [job]);
    expect(queues?.dollars).toBeCloseTo((3 * (1 + 2) * 0.4) / 1e6, 12);
    // 10 documents, 10 outcomes, 2 parts, 1 row of their texts, 1 job, 2 for its dispatch, 1 submission.
    expect(d1?.dollars).toBeCloseTo(27 / 1e6, 12);
    expect(workers?.dollars).toBeCloseTo((2 * 0.3) / 1e6, 12);
    expect(model?.dollars).toBeCloseTo(0.012, 12);
  });

  it("sends of a staged document a reference only, and writes and deletes it in D1", () => {
    const [queues, d1] = costItems({ ...push, ended: 1 }, [{ documents: 1, bytes: 980_000, textRow: 1 }], [job]);
    expect(queues?.dollars).toBeCloseTo((3 * 0.4) / 1e6, 12);
    // A document, an outcome, a part, its texts, 3 as it is staged, a job, 2 for its dispatch, the submission.
    expect(d1?.dollars).toBeCloseTo(11 / 1e6, 12);
    expect(d1?.amount).toContain("1 part (1 staged)");
  });

  it("includes what a dispatch that was repeated may have used, shared out as tokens are", () => {
    const parts = [{ documents: 10, bytes: 9_000, textRow: 1 }];
    const jobs = [
      { dispatches: 2, again: 1, tokens: 1_500_000 },
      { dispatches: 1, again: 0, tokens: 500_000 },
    ];
    const [, d1, , model] = costItems(push, parts, jobs);
    expect(model?.dollars).toBeCloseTo(0.012 * 1.75, 12);
    expect(model?.amount).toContain("up to 750,000 more for 1 dispatch again");
    expect(d1?.dollars).toBeCloseTo((10 + 10 + 1 + 1 + 2 + 3 * 2 + 1) / 1e6, 12);
  });

  it("says of a million documents how large they are and what the money is for", () => {
    const parts = [{ documents: 1, bytes: 980_000, textRow: 1 }];
    const line = describeMillion(costItems({ ...push, ended: 1, tokens: 245_000 }, parts, [job]), parts);
    expect(line).toBe("a million documents like these (980 KB each): about $2,953, 100 % of it bge-m3");
  });

  it.each([
    [0, "$0"],
    [0.00000123, "$0.0000012"],
    [0.000161, "$0.00016"],
    [0.5, "$0.50"],
    [12.3456, "$12.35"],
    [2961.7, "$2,962"],
  ])("shows %f as %s", (amount, text) => {
    expect(dollars(amount)).toBe(text);
  });
});

describe("a text in a column", () => {
  it("is one line of no more characters than fit, whole emoji included", () => {
    expect(cut("a\nb  c", 10)).toBe("a b c");
    expect(cut("😀😀😀😀", 3)).toBe("😀😀…");
  });
});
