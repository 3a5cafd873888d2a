import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  MAX_PART_BYTES,
  MAX_SEND_BYTES,
  MESSAGE_OVERHEAD_BYTES,
  nameDocument,
  serializeDocument,
  utf8Length,
  type SerializedDocument,
  type SubmissionId,
} from "@sluice/core";
import {
  PartPacker,
  UNMINTED,
  fitsSend,
  isStaged,
  mintDocumentIds,
  parseMessage,
  partBody,
  stagedBody,
  type PackedPart,
  type PartHeader,
} from "../../src/message/message.ts";

const HEADER: PartHeader = {
  submission: "sub_01999999-0000-7000-8000-000000000000" as SubmissionId,
  collection: "c".repeat(64),
  model: "@cf/baai/bge-m3",
  lane: "interactive",
  truncateInputs: false,
};

function serialize(length: number, place: number, contexts = 1, character = "x"): SerializedDocument {
  const texts = Array.from({ length: contexts }, () => character.repeat(length));
  const document = { id: null, query: "q", contexts: texts, contextIds: null, metadata: null };
  const serialized = serializeDocument(document, `d${place}`, place);
  if (!serialized.ok) throw new Error(serialized.error.detail);
  return serialized.value;
}

function pack(documents: readonly SerializedDocument[]): PackedPart[] {
  const packer = new PartPacker(HEADER);
  const parts = [...documents.map((document) => packer.add(document)), packer.flush()];
  return parts.filter((part) => part !== null);
}
const textOf = (part: PackedPart) => new TextDecoder().decode(part.documentsJson);
const bodyOf = (part: PackedPart, number = 0) => partBody(HEADER, number, "0".repeat(64), part.documentsJson);

describe("PartPacker", () => {
  it("keeps all documents in order, and every unstaged body within a message", () => {
    const sizes = fc.array(fc.tuple(fc.integer({ min: 1, max: 70_000 }), fc.constantFrom("x", "é", "\n")), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(sizes, (lengths) => {
        const documents = lengths.map(([length, character], place) => serialize(length, place, 1, character));
        const parts = pack(documents);
        expect(parts.map(textOf).join(",")).toBe(documents.map((document) => document.json).join(","));
        expect(parts.reduce((sum, part) => sum + part.count, 0)).toBe(documents.length);
        for (const [number, part] of parts.entries()) {
          expect(utf8Length(bodyOf(part, number))).toBeLessThanOrEqual(part.bytes);
          if (isStaged(part)) expect(part.count).toBe(1);
          else expect(utf8Length(bodyOf(part, number))).toBeLessThanOrEqual(MAX_PART_BYTES);
        }
      }),
    );
  });

  it("starts a part only if the next document does not fit the current one", () => {
    const documents = Array.from({ length: 300 }, (_, place) => serialize(1_500, place));
    const parts = pack(documents);
    for (const part of parts.slice(0, -1)) expect(part.bytes + 1_600).toBeGreaterThan(MAX_PART_BYTES);
  });

  it("puts at most 500 documents and 2,500 contexts into a part", () => {
    expect(pack(Array.from({ length: 501 }, (_, place) => serialize(1, place))).map((part) => part.count)).toEqual([
      500, 1,
    ]);
    expect(pack(Array.from({ length: 6 }, (_, place) => serialize(1, place, 500))).map((part) => part.count)).toEqual([
      5, 1,
    ]);
  });

  it("gives a document too large for a message its own part", () => {
    const parts = pack([serialize(10, 0), serialize(200_000, 1), serialize(10, 2)]);
    expect(parts.map((part) => [part.count, isStaged(part)])).toEqual([
      [1, false],
      [1, true],
      [1, false],
    ]);
  });

  it("fills in the submission's id later, only in ids of documents named after it", () => {
    const serialized = (submission: string, id: string | null, place: number) => {
      const texts = { query: `é ${UNMINTED}`, contexts: [UNMINTED], contextIds: [UNMINTED], metadata: null };
      const named = serializeDocument({ id, ...texts }, id ?? nameDocument(submission, place), place);
      if (!named.ok) throw new Error(named.error.detail);
      return named.value;
    };
    const ids = [null, `${UNMINTED}-0`, null, "d", ...Array.from({ length: 600 }, () => null)];
    const packer = new PartPacker({ ...HEADER, submission: UNMINTED });
    const parts = ids.map((id, place) => packer.add(serialized(UNMINTED, id, place), id === null));
    const packed = [...parts, packer.flush()].filter((part) => part !== null);
    for (const part of packed) mintDocumentIds(part, HEADER.submission);
    expect(packed.length).toBeGreaterThan(1);
    expect(packed.map(textOf).join(",")).toBe(
      ids.map((id, place) => serialized(HEADER.submission, id, place).json).join(","),
    );
  });

  it("is empty after a flush", () => {
    const packer = new PartPacker(HEADER);
    expect(packer.flush()).toBeNull();
    packer.add(serialize(1, 0));
    expect(packer.flush()?.count).toBe(1);
    expect(packer.flush()).toBeNull();
  });
});

it("a call takes up to 256 KB and 100 messages, including the overhead of Queues", () => {
  const room = MAX_SEND_BYTES - 1_000 - MESSAGE_OVERHEAD_BYTES;
  expect(fitsSend({ bytes: 1_000, messages: 1 }, room)).toBe(true);
  expect(fitsSend({ bytes: 1_000, messages: 1 }, room + 1)).toBe(false);
  expect(fitsSend({ bytes: 0, messages: 100 }, 1)).toBe(false);
});

describe("parseMessage", () => {
  const part = pack([serialize(5, 0), serialize(5, 1)])[0] as PackedPart;

  it("reads a packed part", () => {
    expect(parseMessage(bodyOf(part, 3))).toMatchObject({
      ok: true,
      value: {
        kind: "part",
        part: 3,
        submission: HEADER.submission,
        truncate_inputs: false,
        documents: [{ id: "d0" }, { id: "d1" }],
      },
    });
    expect(parseMessage(stagedBody(HEADER, 4))).toEqual({
      ok: true,
      value: { v: 1, kind: "staged", submission: HEADER.submission, lane: "interactive", part: 4 },
    });
  });

  it.each([
    ["an object", { v: 1 }, "not text"],
    ["text that is not JSON", "secret", "not JSON"],
    ["another version", bodyOf(part).replace('"v":1', '"v":2'), '"v"'],
    ["an unknown kind", bodyOf(part).replace('"part"', '"secret"'), '"kind"'],
    ["a wrong submission id", bodyOf(part).replace("sub_0199", "secret"), '"submission"'],
    ["no documents", partBody(HEADER, 0, "h", ""), '"documents"'],
    [
      "a document without contexts",
      bodyOf(part).replace(/"contexts":\[[^\]]*\]/, '"contexts":[]'),
      '"documents.0.contexts"',
    ],
    ...[null, 7, "secret", {}, [""], ["secret", 7], [["secret"]]].map((contexts): [string, string, string] => [
      `contexts that are ${JSON.stringify(contexts)}`,
      bodyOf(part).replace(/"contexts":\[[^\]]*\]/, `"context_ids":["secret"],"contexts":${JSON.stringify(contexts)}`),
      '"documents.0.contexts"',
    ]),
    [
      "context ids that are not a list of strings",
      bodyOf(part).replace('"contexts":', '"context_ids":[7],"contexts":'),
      '"documents.0.context_ids"',
    ],
    [
      "a document with fewer ids than contexts",
      bodyOf(part).replace('"contexts":', '"context_ids":[],"contexts":'),
      '"documents.0"',
    ],
  ])("refuses %s, and names the field without its text", (_, body, place) => {
    const parsed = parseMessage(body);
    expect(parsed.ok ? "read" : parsed.error).toContain(place);
    expect(JSON.stringify(parsed)).not.toContain("secret");
  });
});
