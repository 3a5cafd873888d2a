import { describe, expect, it } from "vitest";
import { declarationsOf } from "../src/run/declarations.ts";
import { Patches, type Replacement } from "../src/run/patches.ts";

const TEXT = `import { a } from "./a.ts";

/** A comment that says function count() { total + 1 }. */
const LIMIT = 1_000;
const PATTERN = /[}"'\`]/g;

export interface Row {
  readonly total: number;
}

export async function count(db: Db): Promise<{ total: number }> {
  const text = sql\`UPDATE rows SET total = total + 1 WHERE id = \${list(
    first,
    "}",
  )}\`;
  return db.run(text.replace(/[\`{]/, "("));
}

export class Counter {
  readonly #total = {};
  static of(total: number): Counter {
    return new Counter(total + 1);
  }
  #add({ total }: Row): number {
    return total + 2;
  }
}

function last(): number {
  return 3;
}
`;

const apply = (replacement: Replacement, ...texts: string[]) => {
  const sources = new Map(texts.map((text, index) => [`${index}.ts`, text]));
  const patches = new Patches([replacement], sources);
  const [file = ""] = patches.files;
  return patches.apply(file, sources.get(file) ?? "");
};

describe("declarations of a text", () => {
  it("are its functions, classes, constants and members, each with its text", () => {
    const found = declarationsOf(TEXT).map(({ name, start, end }) => [name, TEXT.slice(start, end)] as const);
    expect(found.map(([name]) => name)).toEqual([
      "LIMIT",
      "PATTERN",
      "count",
      "Counter",
      "Counter.#total",
      "Counter.of",
      "Counter.#add",
      "last",
    ]);
    const texts = new Map(found);
    expect(texts.get("LIMIT")).toBe("const LIMIT = 1_000;");
    expect(texts.get("count")).toMatch(/^export async function count\([^]*"\("\)\);\n\}$/);
    expect(texts.get("Counter.of")).toBe(
      "static of(total: number): Counter {\n    return new Counter(total + 1);\n  }",
    );
    expect(texts.get("last")).toBe("function last(): number {\n  return 3;\n}");
  });
});

describe("a replacement", () => {
  const snippet: Replacement = { in: "count", find: "SET total = total + 1", replace: "SET total = total" };

  it("changes only its snippet in the named function", () => {
    expect(apply(snippet, "const other = 1;\n", TEXT)).toBe(TEXT.replace("SET total = total + 1", "SET total = total"));
  });

  it("finds its snippet in a method", () => {
    const changed = apply({ in: "Counter.#add", find: "total + 2", replace: "total" }, TEXT);
    expect(changed).toBe(TEXT.replace("total + 2", "total"));
  });

  it("finds its snippet despite white space and trailing commas from formatting", () => {
    const list = { in: "count", find: 'list(first, "}")', replace: "list()" };
    expect(apply(list, TEXT)).toContain("id = ${list()}`");
    expect(apply(list, TEXT.replace(/list\([^)]*\)/, 'list(first, "}")'))).toContain("id = ${list()}`");
    expect(apply({ ...list, find: 'list(\nfirst,\n"}",\n)' }, TEXT)).toContain("id = ${list()}`");
    expect(apply({ ...list, find: 'first, "}",', replace: "" }, TEXT)).toMatch(/list\(\s*\)/);
  });

  it("names the function that the product does not declare", () => {
    expect(() => apply({ ...snippet, in: "countRows" }, TEXT)).toThrow("the product declares no countRows");
    expect(() => apply({ ...snippet, in: "Row" }, TEXT)).toThrow("the product declares no Row");
  });

  it("fails if the named function lacks the snippet or contains it twice", () => {
    expect(() => apply({ ...snippet, in: "last" }, TEXT)).toThrow("last contains this 0 times, not 1");
    expect(() => apply({ ...snippet, find: "total" }, TEXT)).toThrow("count contains this 3 times, not 1");
  });

  it("fails if several functions of that name contain the snippet, and picks the only one that does", () => {
    expect(() => apply(snippet, TEXT, TEXT)).toThrow("count contains this 2 times, not 1");
    expect(apply(snippet, "function count() {}\n", TEXT)).toContain("SET total = total WHERE");
  });

  it("fails if it overlaps another", () => {
    const patches = new Patches([snippet, { ...snippet, find: "total = total + 1 WHERE" }], new Map([["a.ts", TEXT]]));
    expect(() => patches.apply("a.ts", TEXT)).toThrow("overlap");
  });
});
