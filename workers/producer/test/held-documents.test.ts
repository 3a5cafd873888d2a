import { expect, it } from "vitest";
import { acceptDocument } from "../src/push/accepted.ts";
import { HeldDocuments } from "../src/push/held-documents.ts";

const OPTIONS = { model: "@cf/baai/bge-m3", truncateInputs: true } as const;

it("gives documents back as they were added, once", () => {
  const held = new HeldDocuments();
  const documents = ["a", "\uFEFFé😀", "x".repeat(900_000), "y".repeat(300_000), "z"].map((text, index) => {
    const accepted = acceptDocument(
      { ...(index > 0 && { id: `d${index}` }), query: "q", contexts: [text] },
      null,
      index,
      OPTIONS,
    );
    if (!accepted.ok) throw new Error("not a document");
    return accepted.value;
  });
  for (const document of documents) held.add(document);
  expect(held.count).toBe(5);
  expect([...held.names()]).toMatchObject(documents.map(({ id, index }) => ({ id, index })));
  expect([...held.take()]).toEqual(documents);
  expect([...held.take()]).toEqual([]);
});
