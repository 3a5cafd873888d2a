import { serializeDocument } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { asBatchBinding, toRequest } from "../src/index.ts";
import { SUBMISSION } from "./support.ts";

describe("a request", () => {
  test("has exactly the size that its document was packed with", () => {
    const document = {
      id: null,
      query: 'é "q" 😀',
      contexts: ["a\n", "ß".repeat(99)],
      contextIds: null,
      metadata: null,
    };
    const serialized = serializeDocument(document, "d", 120);
    const request = toRequest({ submission: SUBMISSION, index: 120, ...document, truncateInputs: false });
    const bytes = new TextEncoder().encode(`${JSON.stringify(request)},`).byteLength;
    expect(serialized).toMatchObject({ ok: true, value: { payloadBytes: bytes } });
  });
});

describe("the binding", () => {
  test("is called as a method of its object", async () => {
    class Entrypoint {
      readonly #answer = "mine";
      async run(): Promise<unknown> {
        return this.#answer;
      }
    }
    expect(await asBatchBinding(new Entrypoint()).run("m", {})).toBe("mine");
  });

  test.each([undefined, null, "AI"])("reports %j instead of it as a configuration error", (missing) => {
    expect(() => asBatchBinding(missing)).toThrow("bind Workers AI");
  });
});
