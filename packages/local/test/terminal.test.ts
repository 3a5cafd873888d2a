import { spawnSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { commandLine, sqlLine } from "../src/command.ts";
import { startProgress, type Progress } from "../src/demo/progress.ts";
import { layOut } from "../src/demo/rankings.ts";
import { DEFAULT_STATE } from "../src/settings.ts";
import { renderAnswer } from "../src/table.ts";

const HIDE_CURSOR = "\u001B[?25l";
const SHOW_CURSOR = "\u001B[?25h";
const counts = { total: 40, queued: 0, processing: 40, succeeded: 0, failed: 0, canceled: 0 };

/** A terminal as far as a bar needs one. */
function makeTerminal() {
  const written: string[] = [];
  const write = (text: string) => written.push(text) > 0;
  const stream = Object.assign(new EventEmitter(), {
    isTTY: true,
    columns: 80,
    write,
    cursorTo: () => true,
    moveCursor: () => true,
    clearLine: () => true,
  });
  return { stream: stream as unknown as NodeJS.WriteStream, written };
}

const started: Progress[] = [];
afterEach(() => {
  for (const progress of started.splice(0)) progress[Symbol.dispose]();
});

describe("the bar", () => {
  it("gives the cursor back and leaves no timer when what it shows breaks off", () => {
    const { stream, written } = makeTerminal();
    const broken = () => {
      using progress = startProgress(40, stream);
      started.push(progress);
      progress.show(counts);
      throw new Error("broke off");
    };
    const listeners = process.listenerCount("exit");
    expect(broken).toThrow("broke off");
    const output = written.join("");
    expect(output).toContain(HIDE_CURSOR);
    expect(output.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(output.lastIndexOf(HIDE_CURSOR));
    expect(process.listenerCount("exit")).toBe(listeners);
  });

  it("gives the cursor back where the process ends with it", () => {
    const progress = JSON.stringify(import.meta.resolve("../src/demo/progress.ts"));
    const program = `const { startProgress } = await import(${progress});
      process.stdout.isTTY = true;
      Object.assign(process.stdout, { cursorTo() {}, moveCursor() {}, clearLine() {} });
      startProgress(40, process.stdout).show(${JSON.stringify(counts)});
      process.exit(130);`;
    const { stdout } = spawnSync(process.execPath, ["--no-warnings", "--input-type=module", "-e", program], {
      encoding: "utf8",
    });
    expect(stdout.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(stdout.lastIndexOf(HIDE_CURSOR));
    expect(stdout).toContain(HIDE_CURSOR);
  });

  it("says what it waits for", () => {
    const { stream, written } = makeTerminal();
    const progress = startProgress(40, stream);
    started.push(progress);
    progress.show(counts, "1 job due in 14 s");
    expect(written.join("")).toContain("processing 40 → succeeded 0 (1 job due in 14 s)");
  });
});

describe("the rankings", () => {
  it.each([60, 80, 100, 130, Number.POSITIVE_INFINITY])("fit into %d columns", (width) => {
    const { query, context, rank } = layOut(width);
    expect(query + "  0.000  ".length + context + "  ".length + rank.length).toBeLessThanOrEqual(width);
    expect(query).toBeGreaterThan(10);
    expect(context).toBeGreaterThan(15);
  });
});

describe("a line to copy", () => {
  it("finds the state that this command used, whichever command it is", () => {
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
  it("is rows under each other, a row a line", () => {
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

  it("stays in columns where characters take two cells, and cuts none of them in halves", () => {
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

  it("is harmless to a terminal, in its names and its cells", () => {
    const hostile = "\u001B]0;x\u0007\u202E";
    const said = JSON.stringify([{ results: [{ [hostile]: hostile }, { [hostile]: { a: hostile } }] }]);
    expect(renderAnswer(said, 60)).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  });

  it("may be an error, of which the text is told, or no JSON", () => {
    expect(renderAnswer(JSON.stringify({ error: { text: "no such table: x" } }), 60)).toBe("no such table: x");
    expect(renderAnswer("something else", 60)).toBeNull();
  });
});
