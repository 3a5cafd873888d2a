import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
import { Checker } from "../../client/src/cli/check.ts";
import { Estimator } from "../../client/src/cli/estimate.ts";
import { costItems, describeMillion, messageBytes } from "../src/demo/cost.ts";
import { cut, dollars } from "../src/demo/figures.ts";
import { measureDocuments } from "../src/demo/measure.ts";
import { rejectedPlaces } from "../src/demo/push-and-follow.ts";
import { documentName, readFile } from "../src/demo/read-file.ts";
import { notSucceeded } from "../src/demo/tell.ts";

const submission = "sub_01a22896-7c5c-71cc-b584-4f90670e70ac" as SubmissionId;
const header: PartHeader = {
  submission,
  collection: "default",
  model: DEFAULT_MODEL,
  lane: "bulk",
  truncateInputs: true,
};
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
    ['[{"query":"a","contexts":["x"]}]', "file.ndjson holds one JSON list"],
    ['[\n  {\n    "query": "a",\n    "contexts": ["x"]\n  }\n]\n', "as `jq -c '.[]'` does"],
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
  const push = { submission, ended: 10, tokens: 1_000_000, killed: false };
  const job = { dispatches: 1, again: 0, tokens: 1_000_000 };

  it("counts an operation for each 64 KB of a message written, read and deleted", () => {
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
  ])("says what %i messages of %i bytes make of operations", (messages, bytes, words) => {
    const parts = Array.from({ length: messages }, () => ({ documents: 5, bytes, textRow: 7 }));
    expect(costItems(push, parts, [job])[0]?.amount).toBe(words);
  });

  it("counts the operations of a push that was killed as the least", () => {
    const [queues] = costItems({ ...push, killed: true }, [{ documents: 5, bytes: 500, textRow: 1 }], [job]);
    expect(queues?.amount).toBe("at least 3 operations: 1 message, written, read and deleted");
  });

  it("names one of each in the singular", () => {
    const items = costItems({ ...push, ended: 1, tokens: 1 }, [{ documents: 1, bytes: 500, textRow: 1 }], [job]);
    expect(items.map(({ amount }) => amount)).toEqual([
      "3 operations: 1 message, written, read and deleted",
      "at least 8 rows written: 1 document, 1 outcome, 1 part, 1 row of texts, 1 job, 1 dispatch, the submission",
      "at least 2 requests: the push and its delivery",
      "1 input token, as the local stand-in estimates them",
    ]);
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
    expect(model?.amount).toContain("up to 750,000 more for 1 repeated dispatch");
    expect(d1?.dollars).toBeCloseTo((10 + 10 + 1 + 1 + 2 + 3 * 2 + 1) / 1e6, 12);
  });

  const line = JSON.stringify({ query: "q".repeat(60), contexts: Array(5).fill("c".repeat(277)) });
  const pushed = (count: number, from: SubmissionId = submission) =>
    Array.from({ length: count }, (_, place) => ({
      document: { id: null, place, query: "", contexts: [], line },
      submission: from,
    }));

  it("says the same of a million documents from one, from forty, and from those of a push that was killed", () => {
    const other = submission.replace("ac", "ad") as SubmissionId;
    const [one, ...more] = [pushed(1), pushed(40), [...pushed(25), ...pushed(15, other)]].map((documents) =>
      describeMillion(measureDocuments(documents).totals),
    );
    expect(one).toMatch(
      /^On Cloudflare, a million documents like these \(1\.6 KB each\): about \$7\.\d\d, \d\d % of it bge-m3\. /,
    );
    expect(one).toContain("messages and batches as full as they can be");
    expect(more).toEqual([one, one]);
  });

  it("agrees on a million documents with the client's estimate of them", () => {
    const estimator = new Estimator(undefined);
    const checker = new Checker({ truncateInputs: true });
    for (let place = 0; place < 5_000; place += 1)
      estimator.add(checker.check({ kind: "document", first: place, last: place, document: line }));
    const { totals } = measureDocuments(pushed(7));
    expect(estimateCost(scaleTotals(totals, 5_000)).usd.total).toBeCloseTo(estimator.estimate().usd.total, 9);
  });

  it("knows to the byte what a part's message holds", () => {
    const { sizes } = measureDocuments(pushed(3));
    const packer = new PartPacker(header);
    for (const { document } of pushed(3)) {
      const parsed = parseDocument(JSON.parse(document.line), null, { model: DEFAULT_MODEL, truncateInputs: true });
      if (!parsed.ok) throw new Error("not a document");
      const sent = serializeDocument(parsed.value, documentName(document, submission), document.place);
      if (sent.ok) packer.add(sent.value);
    }
    const packed = packer.flush();
    const body = partBody(header, 0, "0".repeat(64), packed?.documents ?? "");
    const ids = [...(sizes.get(submission)?.keys() ?? [])];
    expect(messageBytes(header, { part: 0, hash: "0".repeat(64), ids }, sizes.get(submission) ?? new Map())).toBe(
      Buffer.byteLength(body),
    );
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
  it("is one line of no more cells than fit, whole emoji included", () => {
    expect(cut("a\nb  c", 10)).toBe("a b c");
    expect(cut("😀😀😀😀", 5)).toBe("😀😀…");
    expect(cut("日本語のテキスト", 8)).toBe("日本語…");
  });
});
