import { describe, expect, it } from "vitest";
import { commandLine, sqlLine } from "../src/command.ts";
import { column, layOut } from "../src/demo/rankings.ts";
import { DEFAULT_STATE } from "../src/settings.ts";
import { renderAnswer } from "../src/table.ts";

describe("the rankings", () => {
  it.each([60, 80, 100, 130, Number.POSITIVE_INFINITY])("fit into %d columns", (width) => {
    const { query, context, rank } = layOut(width);
    expect(query + "  0.000  ".length + context + "  ".length + rank.length).toBeLessThanOrEqual(width);
    expect(query).toBeGreaterThan(10);
    expect(context).toBeGreaterThan(15);
  });

  it("put a text on one line of exactly the width, without splitting an emoji", () => {
    expect(column("a\nb  c", 10)).toBe("a b c     ");
    expect(column("😀😀😀😀", 5)).toBe("😀😀…");
    expect(column("日本語のテキスト", 8)).toBe("日本語… ");
  });
});

describe("a command to copy", () => {
  it("includes the state folder for every command", () => {
    const settings = { state: "/tmp/my state" };
    expect(commandLine(settings, ["demo", "--kill"])).toBe(
      "SLUICE_STATE='/tmp/my state' npx -y pnpm@12.4.2 demo --kill",
    );
    expect(sqlLine(settings, "SELECT 1")).toBe("SLUICE_STATE='/tmp/my state' npx -y pnpm@12.4.2 sql -- 'SELECT 1'");
    expect(sqlLine(settings, "SELECT 'a'")).toBe(`SLUICE_STATE='/tmp/my state' npx -y pnpm@12.4.2 sql -- "SELECT 'a'"`);
    expect(commandLine({ state: DEFAULT_STATE }, ["dev"])).toBe("npx -y pnpm@12.4.2 dev");
  });
});

describe("an answer of D1", () => {
  it("is printed one row per line", () => {
    const said = JSON.stringify([
      {
        results: [
          { id: "a\nb", score: 0.5 },
          { id: "c", score: null },
        ],
        success: true,
        meta: {},
      },
      { results: [], success: true, meta: {} },
    ]);
    expect(renderAnswer(said, 60)).toBe(["id   score", "a b  0.5", "c    null", "", "no rows"].join("\n"));
    expect(renderAnswer(said, 2)).toContain("a…");
  });

  it("aligns characters of two cells without splitting them", () => {
    const said = JSON.stringify([
      {
        results: [
          { query: "日本語", id: "a" },
          { query: "x😀😀", id: "b" },
        ],
      },
    ]);
    expect(renderAnswer(said, 60)).toBe(["query   id", "日本語  a", "x😀😀   b"].join("\n"));
    expect(renderAnswer(said, 4)?.split("\n").slice(1)).toEqual(["日…   a", "x😀…  b"]);
  });

  it("has control characters escaped in names and cells", () => {
    const hostile = "\u001B]0;x\u0007\u202E";
    const said = JSON.stringify([{ results: [{ [hostile]: hostile }, { [hostile]: { a: hostile } }] }]);
    expect(renderAnswer(said, 60)).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  });

  it("may be an error, whose text is reported, or not JSON", () => {
    expect(renderAnswer(JSON.stringify({ error: { text: "no such table: x" } }), 60)).toBe("no such table: x");
    expect(renderAnswer("something else", 60)).toBeNull();
  });
});
