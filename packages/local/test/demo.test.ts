import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Checker } from "@sluice/client/check";
import {
  DEFAULT_MODEL,
  estimateCost,
  parseDocument,
  scaleTotals,
  serializeDocument,
  type SubmissionId,
} from "@sluice/core";
import { PartPacker, partBody, type PartHeader } from "@sluice/pipeline/message/message.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Estimator } from "../../client/src/cli/estimate.ts";
import { costItems, describeMillion } from "../src/demo/cost.ts";
import { measureFile } from "../src/demo/measure.ts";
import { messageBytes } from "../src/demo/parts.ts";
import { readFile } from "../src/demo/read-file.ts";

const submission = "sub_01a22896-7c5c-71cc-b584-4f90670e70ac" as SubmissionId;
const header: PartHeader = {
  submission,
  collection: "default",
  model: DEFAULT_MODEL,
  lane: "bulk",
  truncateInputs: true,
};

describe("the demo's file", () => {
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

  it("numbers its lines: the index includes refused lines but not blank ones", async () => {
    const file = await read(
      '{"query":"a","contexts":["x"]}\r\n\n \nnot json\n{"query":"b","contexts":["x",{"id":"i","text":"y"}]}',
    );
    if (!file.ok) throw new Error(file.error);
    expect(file.value.documents).toEqual([
      { line: 1, text: '{"query":"a","contexts":["x"]}' },
      { line: 4, text: "not json" },
      { line: 5, text: '{"query":"b","contexts":["x",{"id":"i","text":"y"}]}' },
    ]);
    expect([...measureFile(file.value, submission).sizes.keys()]).toEqual([`${submission}-0`, `${submission}-2`]);
  });

  it("refuses a line that is not UTF-8, and keeps the others", async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"query":"caf'),
      Buffer.from([0xe9]),
      Buffer.from('","contexts":["x"]}\n{"query":"b","contexts":["y"]}\n'),
    ]);
    const file = await read(bytes);
    if (!file.ok) throw new Error(file.error);
    expect(file.value).toMatchObject({
      bytes: bytes.length,
      documents: [{ line: 2, text: '{"query":"b","contexts":["y"]}' }],
      unreadable: [{ line: 1, detail: "the line is not valid UTF-8" }],
    });
  });

  it.each([
    ["one line", '\uFEFF{"query":"a","contexts":["x"]}', 1],
    ["several lines that end in CRLF", '\uFEFF{"query":"a","contexts":["x"]}\r\n{"query":"a","contexts":["x"]}\r\n', 2],
  ])("may begin with a byte order mark: %s", async (_, text, lines) => {
    const file = await read(text);
    if (!file.ok) throw new Error(file.error);
    expect(file.value.documents.map(({ text: line }) => line)).toEqual(
      Array(lines).fill('{"query":"a","contexts":["x"]}'),
    );
  });

  it.each([
    ["", "file.ndjson is empty"],
    ["\n \n", "file.ndjson is empty"],
    ["hello\n", "file.ndjson has no document"],
    ['[{"query":"a","contexts":["x"]}]', "file.ndjson is a JSON list"],
    ['[\n  {\n    "query": "a",\n    "contexts": ["x"]\n  }\n]\n', "for example with `jq -c '.[]'`"],
  ])("is refused in one line when it is %j", async (text, line) => {
    const file = await read(text);
    expect(file).toEqual({ ok: false, error: expect.stringContaining(line) });
    expect(JSON.stringify(file)).not.toContain(String.raw`\n`);
  });

  it.each([
    ["missing.ndjson", "no such file"],
    [".", "it is a folder"],
  ])("is refused in one line when it is %s", async (name, line) => {
    expect(await readFile(join(folder, name), name)).toEqual({ ok: false, error: `${name} cannot be read: ${line}` });
  });
});

describe("the cost of a push", () => {
  const push = { ended: 10, tokens: 1_000_000, killed: false };
  const job = { dispatches: 1, again: 0, tokens: 1_000_000 };

  it("counts an operation for each 64 KB written, read and deleted", () => {
    const parts = [
      { documents: 5, bytes: 64_000, textRow: 7 },
      { documents: 5, bytes: 64_001, textRow: 7 },
    ];
    const [queues, d1, workers, model] = costItems(push, parts, [job]);
    expect(queues?.amount).toBe("9 operations: 2 messages in 3 units of 64 KB, written, read and deleted");
    expect(queues?.dollars).toBeCloseTo((3 * (1 + 2) * 0.4) / 1e6, 12);
    // 10 documents, 10 outcomes, 2 parts, 1 row of their texts, 1 job, 2 for its dispatch, 1 submission.
    expect(d1?.dollars).toBeCloseTo(27 / 1e6, 12);
    expect(workers?.dollars).toBeCloseTo((2 * 0.3) / 1e6, 12);
    expect(model?.dollars).toBeCloseTo(0.012, 12);
  });

  it.each([
    [1, 27_000, "3 operations: 1 message, written, read and deleted"],
    [1, 90_000, "6 operations: 1 message in 2 units of 64 KB, written, read and deleted"],
    [2, 27_000, "6 operations: 2 messages, written, read and deleted"],
  ])("counts the operations of %i messages of %i bytes", (messages, bytes, words) => {
    const parts = Array.from({ length: messages }, () => ({ documents: 5, bytes, textRow: 7 }));
    expect(costItems(push, parts, [job])[0]?.amount).toBe(words);
  });

  it("reports a lower bound for the operations of a killed push", () => {
    const [queues] = costItems({ ...push, killed: true }, [{ documents: 5, bytes: 500, textRow: 1 }], [job]);
    expect(queues?.amount).toBe("at least 3 operations: 1 message, written, read and deleted");
  });

  it("uses the singular for one", () => {
    const items = costItems({ ...push, ended: 1, tokens: 1 }, [{ documents: 1, bytes: 500, textRow: 1 }], [job]);
    expect(items.map(({ amount }) => amount)).toEqual([
      "3 operations: 1 message, written, read and deleted",
      "at least 8 rows written: 1 document, 1 outcome, 1 part, 1 row of texts, 1 job, 1 dispatch, the submission",
      "at least 2 requests: the push and its delivery",
      "1 input token, as the local stand-in estimates them",
    ]);
  });

  it("counts a staged document as a reference in the Queue and rows in D1", () => {
    const [queues, d1] = costItems({ ...push, ended: 1 }, [{ documents: 1, bytes: 980_000, textRow: 1 }], [job]);
    expect(queues?.dollars).toBeCloseTo((3 * 0.4) / 1e6, 12);
    // A document, an outcome, a part, its texts, 3 for staging, a job, 2 for its dispatch, the submission.
    expect(d1?.dollars).toBeCloseTo(11 / 1e6, 12);
    expect(d1?.amount).toContain("1 part (1 staged)");
  });

  it("adds the possible tokens of repeated dispatches in proportion", () => {
    const parts = [{ documents: 10, bytes: 9_000, textRow: 1 }];
    const jobs = [
      { dispatches: 2, again: 1, tokens: 1_500_000 },
      { dispatches: 1, again: 0, tokens: 500_000 },
    ];
    const [, d1, , model] = costItems(push, parts, jobs);
    expect(model?.dollars).toBeCloseTo(0.012 * 1.75, 12);
    expect(model?.amount).toContain("up to 750,000 more for 1 repeated dispatch");
    expect(d1?.dollars).toBeCloseTo((10 + 10 + 1 + 1 + 2 + 3 * 2 + 1) / 1e6, 12);
  });

  const text = JSON.stringify({ query: "q".repeat(60), contexts: Array(5).fill("c".repeat(277)) });
  const fileOf = (count: number) => ({
    documents: Array.from({ length: count }, (_, index) => ({ line: index + 1, text })),
  });

  it("estimates the same cost of a million documents from one and from forty", () => {
    const [one, forty] = [1, 40].map((count) => describeMillion(measureFile(fileOf(count), submission).totals));
    expect(one).toMatch(
      /^On Cloudflare, a million documents like these \(1\.6 KB each\): about \$7\.\d\d, \d\d % of it bge-m3\. /,
    );
    expect(one).toContain("full messages and batches");
    expect(forty).toBe(one);
  });

  it("agrees with the client's estimate for a million documents", () => {
    const estimator = new Estimator(undefined);
    const checker = new Checker({ truncateInputs: true });
    for (let index = 0; index < 5_000; index += 1)
      estimator.add(checker.check({ kind: "document", first: index, last: index, document: text }));
    const { totals } = measureFile(fileOf(7), submission);
    expect(estimateCost(scaleTotals(totals, 5_000)).usd.total).toBeCloseTo(estimator.estimate().usd.total, 9);
  });

  it("excludes refused documents, including one with a repeated id", () => {
    const named = JSON.stringify({ id: "a", query: "q", contexts: ["c"] });
    const documents = [named, named, "{}", text].map((one, index) => ({ line: index + 1, text: one }));
    const { totals, sizes } = measureFile({ documents }, submission);
    expect([totals.documents, ...sizes.keys()]).toEqual([2, "a", `${submission}-3`]);
  });

  it("computes the exact size of a part's message", () => {
    const { sizes } = measureFile(fileOf(3), submission);
    const packer = new PartPacker(header);
    for (const index of [0, 1, 2]) {
      const parsed = parseDocument(JSON.parse(text), null, { model: DEFAULT_MODEL, truncateInputs: true });
      if (!parsed.ok) throw new Error("not a document");
      const sent = serializeDocument(parsed.value, `${submission}-${index}`, index);
      if (sent.ok) packer.add(sent.value);
    }
    const packed = packer.flush();
    const body = partBody(header, 0, "0".repeat(64), packed?.documentsJson ?? "");
    const ids = [...sizes.keys()];
    expect(messageBytes(header, { part: 0, hash: "0".repeat(64), ids }, sizes)).toBe(Buffer.byteLength(body));
  });
});
