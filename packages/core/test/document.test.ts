import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  documentIdFlaw,
  externalReference,
  memberText,
  nameDocument,
  parseDocument,
  serializeDocument,
  utf8Length,
  type Document,
  type SubmissionId,
} from "../src/index.ts";

const RULES = { model: "@cf/baai/bge-m3", truncateInputs: true } as const;
const SUBMISSION = "sub_01999999-0000-7000-8000-000000000000" as SubmissionId;

function parsed(value: unknown): Document {
  const document = parseDocument(value, memberText(JSON.stringify(value), "metadata"), RULES);
  if (!document.ok) throw new Error(JSON.stringify(document.error));
  return document.value;
}
function problems(value: unknown, rules: Parameters<typeof parseDocument>[2] = RULES) {
  const document = parseDocument(value, memberText(JSON.stringify(value), "metadata"), rules);
  return document.ok ? [] : document.error;
}

describe("parseDocument", () => {
  it("converts both forms of contexts to one, and keeps ids only if one was given", () => {
    expect(parsed({ query: "q", contexts: ["a", { text: "b" }] })).toEqual({
      id: null,
      query: "q",
      contexts: ["a", "b"],
      contextIds: null,
      metadata: null,
    });
    expect(parsed({ id: "i", query: "q", contexts: ["a", { id: "x", text: "b" }, "c"] }).contextIds).toEqual([
      "0",
      "x",
      "2",
    ]);
  });

  it("reports every problem with its location", () => {
    const value = { query: "", contexts: ["a", "", { id: "", text: 7 }], metadata: [], extra: 1 };
    expect(problems(value).map((problem) => problem.pointer)).toEqual([
      "/extra",
      "/query",
      "/contexts/1",
      "/contexts/2/id",
      "/contexts/2/text",
      "/metadata",
    ]);
  });

  it("reports at most 20 problems", () => {
    expect(problems({ query: "q", contexts: Array.from({ length: 50 }, () => "") })).toHaveLength(20);
  });

  it.each([
    [{ query: "q", documents: ["a"] }, 'unknown field "documents": rename it to "contexts"'],
    [{ question: "q", contexts: ["a"] }, 'unknown field "question": rename it to "query"'],
    [
      { query: "q", contexts: ["a"], texts: ["b"] },
      'unknown field "texts"; allowed here: id, query, contexts, metadata',
    ],
    [
      { query: "q", contexts: ["a"], top_n: 3 },
      'unknown field "top_n": every context is scored; read the best with ?top_k=',
    ],
    [
      { query: "q", contexts: ["a"], toString: 1 },
      'unknown field "toString"; allowed here: id, query, contexts, metadata',
    ],
    [{ query: "q", contexts: [{ text: "a", title: "t" }] }, 'unknown field "title"; allowed here: id, text'],
  ])("explains a field of another API: %j", (value, detail) => {
    expect(problems(value)[0]?.detail).toBe(detail);
  });

  it("escapes any name in a pointer", () => {
    expect(problems({ query: "q", contexts: ["a"], "a/b~c": 1 })[0]?.pointer).toBe("/a~1b~0c");
  });

  it("never includes document text in a problem", () => {
    const value = {
      query: "secret\0",
      contexts: [{ id: "secret\0", text: "\ud800secret" }, 5, { texts: "secret" }],
      id: "secret\n",
    };
    expect(problems(value).length).toBeGreaterThan(3);
    expect(JSON.stringify(problems(value))).not.toContain("secret");
  });

  it("refuses text that exceeds the model's window only without truncation", () => {
    const value = { query: "q", contexts: ["a", "w ".repeat(8_193)] };
    expect(problems(value)).toEqual([]);
    expect(problems(value, { ...RULES, truncateInputs: false }).map((problem) => problem.pointer)).toEqual([
      "/contexts/1",
    ]);
    expect(problems({ query: "q", contexts: ["w ".repeat(8_192)] }, { ...RULES, truncateInputs: false })).toEqual([]);
  });
});

describe("a document id", () => {
  it.each(["", ".", "..", "a\u0000", "a\u001f", "\u007f", "\u0085", "\ud800", "é".repeat(129), "x".repeat(257)])(
    "must not be %j",
    (id) => {
      expect(documentIdFlaw(id)).not.toBeNull();
    },
  );
  it.each(["a", "...", "a/b", "é".repeat(128), " ", "😀"])("may be %j", (id) => {
    expect(documentIdFlaw(id)).toBeNull();
  });
});

const documents: fc.Arbitrary<Document> = fc
  .record({
    id: fc.constant(null),
    query: fc.string({ unit: "grapheme", minLength: 1 }),
    contexts: fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { minLength: 1, maxLength: 20 }),
    metadata: fc.option(
      fc
        .dictionary(fc.string(), fc.oneof(fc.string({ unit: "grapheme" }), fc.double({ noNaN: true }), fc.boolean()))
        .map((value) => JSON.stringify(value)),
    ),
  })
  .chain((head) =>
    fc
      .option(
        fc.array(fc.string({ minLength: 1 }), { minLength: head.contexts.length, maxLength: head.contexts.length }),
      )
      .map((contextIds) => ({ ...head, contextIds })),
  );

describe("serializeDocument", () => {
  const whole = (document: Document, id: string, place: number) => {
    const serialized = serializeDocument(document, id, place);
    if (!serialized.ok) throw new Error(serialized.error.detail);
    return serialized.value;
  };

  it("writes the document as exact JSON, and counts its bytes exactly", () => {
    fc.assert(
      fc.property(documents, fc.string({ unit: "grapheme", minLength: 1 }), fc.nat(), (document, id, place) => {
        const { json, bytes, payloadBytes } = whole(document, id, place);
        expect(bytes).toBe(utf8Length(json));
        expect(JSON.parse(json)).toEqual(
          JSON.parse(
            JSON.stringify({
              place,
              id,
              bytes: payloadBytes,
              query: document.query,
              contexts: document.contexts,
              ...(document.contextIds !== null && { context_ids: document.contextIds }),
              ...(document.metadata !== null && { metadata: document.metadata }),
            }),
          ),
        );
      }),
    );
  });

  it("counts the bytes of its request, including the separating comma", () => {
    fc.assert(
      fc.property(documents, fc.nat(), (document, place) => {
        const request = {
          query: document.query,
          contexts: document.contexts.map((text) => ({ text })),
          truncate_inputs: false,
          external_reference: externalReference(SUBMISSION, place),
        };
        expect(whole(document, "i", place).payloadBytes).toBe(utf8Length(JSON.stringify(request)) + 1);
      }),
    );
  });

  it("has the same size with ids of the same length", () => {
    const document = parsed({ query: "q", contexts: ["a"] });
    const other = SUBMISSION.replaceAll("9", "f") as SubmissionId;
    const [one, two] = [whole(document, nameDocument(SUBMISSION, 7), 7), whole(document, nameDocument(other, 7), 7)];
    expect(one.bytes).toBe(two.bytes);
  });

  it("accepts a document of 1,000,000 bytes of content and no more", () => {
    // `"q"`, and `["…"]` around the text.
    const text = (bytes: number) => parsed({ query: "q", contexts: ["é".repeat((bytes - 7) / 2 - 0.5) + "x"] });
    expect(serializeDocument(text(1_000_000), "i", 0).ok).toBe(true);
    expect(serializeDocument(text(1_000_002), "i", 0)).toMatchObject({ ok: false, error: { pointer: "" } });
  });

  it("counts metadata as it was written, not as the message escapes it", () => {
    const metadata = { a: '"'.repeat(1_000) };
    const free = 1_000_000 - `"q"["",]`.length - JSON.stringify(metadata).length - ',"metadata":'.length + 13;
    const document = (length: number) => parsed({ query: "q", contexts: ["x".repeat(length)], metadata });
    expect(serializeDocument(document(free), "i", 0).ok).toBe(true);
    expect(serializeDocument(document(free + 1), "i", 0).ok).toBe(false);
  });
});
