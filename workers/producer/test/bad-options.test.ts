import { describe, expect, it } from "vitest";
import { refusedPushes, VALID } from "./refused-push.ts";

const { json: refused } = refusedPushes();

describe("options of a push are refused with 422 and a pointer", () => {
  const many = (more: object) => ({ documents: [VALID], ...more });
  const cases: readonly [name: string, body: unknown, query: string, pointer: string, detail: RegExp][] = [
    ["an empty list", { documents: [] }, "", "/documents", /at least one/],
    ["documents of a wrong type", { documents: { a: 1 } }, "", "/documents", /must be a list/],
    ["a bare list", [VALID], "", "", /"documents"/],
    ["an unknown model", many({ model: "@cf/other" }), "", "/model", /@cf\/baai\/bge-m3/],
    ["an unknown model in the query", VALID, "?model=x", "?model", /@cf\/baai\/bge-m3/],
    ["an unknown lane", many({ lane: "fast" }), "", "/lane", /interactive, bulk/],
    ["a collection with a slash", many({ collection: "a/b" }), "", "/collection", /1 to 64/],
    ["the collection ..", VALID, "?collection=..", "?collection", /"\.\."/],
    ["a collection over 64 characters", VALID, `?collection=${"a".repeat(65)}`, "?collection", /1 to 64/],
    ["an empty collection", VALID, "?collection=", "?collection", /1 to 64/],
    ["a label over 256 bytes", many({ label: "é".repeat(129) }), "", "/label", /256 bytes/],
    ["a label with a control character", many({ label: "a\tb" }), "", "/label", /control/],
    [
      "truncate_inputs that is not a boolean",
      many({ truncate_inputs: "yes" }),
      "",
      "/truncate_inputs",
      /true or false/,
    ],
    [
      "truncate_inputs that is not a boolean in the query",
      VALID,
      "?truncate_inputs=1",
      "?truncate_inputs",
      /true or false/,
    ],
    [
      "an unknown option",
      many({ priority: 1 }),
      "",
      "/priority",
      /unknown field "priority"; allowed here: documents, collection, model, lane, label, truncate_inputs/,
    ],
    [
      "an unknown query parameter",
      VALID,
      "?colection=a",
      "?colection",
      /unknown query parameter; allowed here: collection/,
    ],
    ["a parameter given twice", VALID, "?label=a&label=a", "?label", /more than once/],
    ["a conflict between body and query", many({ collection: "a" }), "?collection=b", "/collection", /\?collection=/],
  ];
  it.each(cases)("%s", async (_, body, query, pointer, detail) => {
    const { status, problem } = await refused(body, query);
    expect({ status, type: problem.type }).toEqual({ status: 422, type: "/problems/invalid" });
    expect(problem.errors[0]).toEqual({ pointer, detail: expect.stringMatching(detail) });
  });

  const named = (number: number) => Array.from({ length: number }, (_, index) => `f${index}`);
  it("of which 20 are listed, and the detail says how many more there are", async () => {
    const parameters = (number: number) => `?${named(number).join("&")}`;
    const listed = async (body: unknown, query: string) => {
      const { problem } = await refused(body, query);
      return [problem.errors.length, /\(.*\)$/.exec(problem.detail)?.[0]];
    };
    expect(await listed(VALID, parameters(3))).toEqual([3, "(and 2 more)"]);
    expect(await listed(VALID, parameters(300))).toEqual([20, "(and at least 299 more)"]);
    const fields = Object.fromEntries(named(300).map((name) => [name, 1]));
    expect(await listed(many(fields), "")).toEqual([20, "(and at least 19 more)"]);
  });
});
