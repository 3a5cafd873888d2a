import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SubmissionId } from "@sluice/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { costItems } from "../src/demo/cost.ts";
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
  const read = (text: string) => {
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
    expect(rejectedPlaces("a\n\nb\nc\nd", rejected)).toEqual(new Set([1, 2]));
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
  it("counts an operation for each 64 KB of a message written, read and deleted", () => {
    const parts = [
      { documents: 5, bytes: 64_000 },
      { documents: 5, bytes: 64_001 },
    ];
    const [queues, d1, workers, model] = costItems({ submission, ended: 10, jobs: 1, tokens: 1_000_000 }, parts);
    expect(queues?.dollars).toBeCloseTo((3 * (1 + 2) * 0.4) / 1e6, 12);
    // 10 documents, 10 outcomes, 2 parts, 1 job, 1 submission.
    expect(d1?.dollars).toBeCloseTo(24 / 1e6, 12);
    expect(workers?.dollars).toBeCloseTo((2 * 0.3) / 1e6, 12);
    expect(model?.dollars).toBeCloseTo(0.012, 12);
  });

  it.each([
    [0, "$0"],
    [0.00000123, "$0.0000012"],
    [0.000161, "$0.00016"],
    [0.5, "$0.50"],
    [12.3456, "$12.35"],
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
