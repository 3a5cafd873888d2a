import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { partBody, PartPacker } from "../../src/message/message.ts";
import { serializeDocument, utf8Length, type Lane, type SubmissionId } from "@sluice/core";
import {
  BatchService,
  counters,
  document,
  open,
  part,
  rows,
  testContext,
  unreliableDatabase,
  type DatabaseCall,
  type TestDocument,
  type TestContext,
} from "../../test-support/index.ts";
import { deliver, messageOf, type TestMessage } from "../../test-support/deliver.ts";

/** The promised limits as literal numbers, so that a changed constant does not change the test. */
const MAX_JOB_BYTES = 9_500_000;
const MAX_JOB_DOCUMENTS = 10_000;
const MAX_JOB_CONTEXTS = 50_000;
const MAX_JOB_MEMBER_BYTES = 1_000_000;
const MAX_PART_BYTES = 127_700;
/** D1 binds at most 2,000,000 B; a transaction is kept near 5 MB. */
const MAX_PARAMETER_BYTES = 2_000_000;
const MAX_TRANSACTION_BYTES = 5_000_000;

let service: BatchService;
let context: TestContext;
let calls: DatabaseCall[];
beforeEach(() => {
  service = new BatchService();
  const observed = unreliableDatabase(env.DB);
  calls = observed.calls;
  context = testContext(observed.d1, service);
});

/** Creates the first `count` messages of a push, packed as by the producer. */
function pack(
  submission: SubmissionId,
  count: number,
  make: (index: number) => TestDocument,
): { messages: TestMessage[]; documents: number } {
  const header = {
    submission,
    collection: "default",
    model: "@cf/baai/bge-m3",
    lane: "bulk",
    truncateInputs: false,
  } as const;
  const packer = new PartPacker(header);
  const messages: TestMessage[] = [];
  let documents = 0;
  for (let index = 0; messages.length < count; index += 1) {
    const { id = `${submission}-${index}`, query = "", contexts = [] } = make(index);
    const serialized = serializeDocument({ id, query, contexts, contextIds: null, metadata: null }, id, index);
    if (!serialized.ok) throw new Error(serialized.error.detail);
    const full = packer.add(serialized.value);
    if (full === null) continue;
    documents += full.count;
    const number = messages.length;
    messages.push({ id: `m${number}`, body: partBody(header, number, `hash-${number}`, full.documentsJson) });
  }
  return { messages, documents };
}

const sizes = (messages: readonly TestMessage[]) => messages.map(({ body }) => utf8Length(String(body)));
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const words = (index: number, length: number) =>
  `${index} is a text of some words. `.repeat(Math.ceil(length / 27)).slice(0, length);

/**
 * Delivers one push. Returns the batches sent to Workers AI after checking that each document was sent exactly once.
 */
async function deliverPush(count: number, make: (index: number) => TestDocument) {
  const submission = await open(context.db, { total: 1_000_000, closed: false });
  const { messages, documents } = pack(submission, count, make);
  const decisions = await deliver(context, messages);
  expect(new Set(decisions)).toEqual(new Set(["ack"]));
  expect(await counters(env.DB, submission)).toMatchObject({ recorded: documents });
  const references = service.submits.flatMap(({ requests }) => requests.map((request) => request.external_reference));
  expect(references).toHaveLength(documents);
  expect(new Set(references).size).toBe(documents);
  return { messages, documents };
}

describe("100 full messages", () => {
  it("become the fewest possible jobs, all but the last at least 95% full", async () => {
    const { messages } = await deliverPush(100, (index) => ({
      query: words(index, 100),
      contexts: Array.from({ length: 5 }, (_, context) => words(index + context, 270)),
    }));
    expect(Math.min(...sizes(messages))).toBeGreaterThan(125_000);
    expect(Math.max(...sizes(messages))).toBeLessThanOrEqual(MAX_PART_BYTES);
    const bytes = service.submits.map((call) => call.bytes);
    expect(bytes).toHaveLength(Math.ceil(sum(bytes) / MAX_JOB_BYTES));
    expect(Math.max(...bytes)).toBeLessThanOrEqual(MAX_JOB_BYTES);
    for (const full of bytes.slice(0, -1)) expect(full).toBeGreaterThanOrEqual(0.95 * MAX_JOB_BYTES);
  });

  it("are counted by bytes as sent, not by characters", async () => {
    const texts = ["漢字", "😀", 'a "quoted"\\ word', "line\nbreak\t\u0001", "é"];
    await deliverPush(100, (index) => ({
      query: (texts[index % 5] ?? "").repeat(20),
      contexts: Array.from({ length: 4 }, (_, context) => (texts[(index + context) % 5] ?? "").repeat(40)),
    }));
    const bytes = service.submits.map((call) => call.bytes);
    expect(Math.max(...bytes)).toBeLessThanOrEqual(MAX_JOB_BYTES);
    for (const full of bytes.slice(0, -1)) expect(full).toBeGreaterThanOrEqual(0.95 * MAX_JOB_BYTES);
    // The payload size stored in D1 is never too small.
    const kept = await rows<{ bytes: number }>(
      env.DB,
      "SELECT payload_bytes AS bytes FROM jobs ORDER BY payload_bytes",
    );
    const sent = bytes.toSorted((a, b) => a - b);
    for (const [index, job] of kept.entries()) {
      expect(job.bytes + '{"requests":[]}'.length).toBeGreaterThanOrEqual(sent[index] ?? 0);
      expect(job.bytes).toBeLessThan(1.001 * (sent[index] ?? 0));
    }
  });

  it.each([
    {
      kind: "of 1.4 KB",
      count: 100,
      make: (index: number) => ({ query: words(index, 100), contexts: [words(index, 1_300)] }),
    },
    {
      kind: "with long ids",
      count: 12,
      make: (index: number) => ({ id: String(index).padStart(256, "i"), query: "q", contexts: ["c"] }),
    },
  ])("are recorded in statements and transactions near D1's limits: documents $kind", async ({ count, make }) => {
    await deliverPush(count, make);
    expect(Math.max(...calls.flatMap((call) => call.bound))).toBeLessThanOrEqual(MAX_PARAMETER_BYTES);
    const transactions = calls.filter((call) => call.sql.includes("INSERT INTO documents"));
    expect(Math.max(...transactions.map((call) => sum(call.bound)))).toBeLessThanOrEqual(1.01 * MAX_TRANSACTION_BYTES);
  });
});

describe("a job", () => {
  it("has at most 10,000 documents, and as many if that limit applies", async () => {
    await deliverPush(50, (index) => ({ query: "q", contexts: [String(index)] }));
    expect(service.submits.map(({ requests }) => requests.length)).toEqual([
      MAX_JOB_DOCUMENTS,
      MAX_JOB_DOCUMENTS,
      5_000,
    ]);
  });

  it("has at most 50,000 contexts, and as many if that limit applies", async () => {
    const contexts = Array.from({ length: 100 }, (_, index) => `c${index}`);
    await deliverPush(50, (index) => ({ query: String(index), contexts }));
    const counts = service.submits.map(({ requests }) => sum(requests.map((request) => request.contexts.length)));
    expect(counts).toEqual([MAX_JOB_CONTEXTS, MAX_JOB_CONTEXTS, 25_000]);
  });

  it("has a list of documents that D1 accepts, however long their ids", async () => {
    await deliverPush(30, (index) => ({ id: String(index).padStart(256, "i"), query: "q", contexts: ["c"] }));
    const lists = await rows<{ bytes: number }>(
      env.DB,
      "SELECT length(members) AS bytes FROM jobs ORDER BY document_count DESC",
    );
    expect(Math.max(...lists.map(({ bytes }) => bytes))).toBeLessThanOrEqual(MAX_JOB_MEMBER_BYTES);
  });

  it("has documents of one lane", async () => {
    const lanes: readonly Lane[] = ["bulk", "interactive", "bulk", "interactive", "interactive"];
    const messages: TestMessage[] = [];
    for (const [index, lane] of lanes.entries()) {
      const submission = await open(context.db, { lane });
      messages.push(messageOf(part(submission, 0, [document(`${lane}${index}`)]), { lane }));
    }
    expect(new Set(await deliver(context, messages))).toEqual(new Set(["ack"]));
    expect(await rows(env.DB, "SELECT lane, document_count AS documents FROM jobs ORDER BY lane")).toEqual([
      { lane: "bulk", documents: 2 },
      { lane: "interactive", documents: 3 },
    ]);
    const sent = service.submits.map(({ requests }) => requests.map(({ query }) => query));
    expect(new Set(sent)).toEqual(
      new Set([
        ["bulk0", "bulk2"].map((name) => document(name).query),
        ["interactive1", "interactive3", "interactive4"].map((name) => document(name).query),
      ]),
    );
  });
});
