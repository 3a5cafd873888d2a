import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { printEstimate } from "../../src/cli/commands/push-report.ts";
import { Estimator } from "../../src/cli/estimate.ts";
import { copyLines, openInput, readLines } from "../../src/cli/input.ts";
import { Output } from "../../src/cli/output.ts";
import { bytes, dollars, duration, fit, harmlessJson, oneLine } from "../../src/cli/text.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function fileOf(content: Uint8Array | string, name = "file"): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  folders.push(folder);
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const open = (path: string) => openInput(path, { stdin: process.stdin, signal: new AbortController().signal });

async function linesOf(path: string) {
  const lines: (string | null)[] = [];
  for await (const { text } of readLines(await open(path))) lines.push(text);
  return lines;
}

test("ends lines at LF and CRLF only, and drops a byte order mark", async () => {
  expect(await linesOf(fileOf("\u{feff}a\r\nb\u{2028}c\n\nd"))).toEqual(["a", "b\u{2028}c", "", "d"]);
  expect(await linesOf(fileOf(Buffer.from([0x61, 0x0a, 0xff, 0x0a, 0x62])))).toEqual(["a", null, "b"]);
});

test("reads a line that is longer than one chunk", async () => {
  const long = "ü".repeat(400_000);
  expect(await linesOf(fileOf(`${long}\n${long}`))).toEqual([long, long]);
});

test("unpacks a gzip file", async () => {
  expect(await linesOf(fileOf(gzipSync("a\nb\n"), "lines.gz"))).toEqual(["a", "b"]);
});

test("copies lines byte for byte", async () => {
  const path = fileOf(Buffer.from("a\nb\r\n\xff\nd\ne", "latin1"));
  const copy = `${path}.copy`;
  await copyLines(
    await open(path),
    [
      { first: 2, last: 3 },
      { first: 5, last: 5 },
    ],
    copy,
  );
  expect(readFileSync(copy, "latin1")).toBe("b\r\n\xff\ne\n");
});

test("formats figures for people", () => {
  expect([999, 1_234, 95_000_000, 9_500_000_000].map(bytes)).toEqual(["999 B", "1.2 KB", "95.0 MB", "9.5 GB"]);
  expect([0, 0.000_021, 0.049_3, 0.5, 0.9996, 1.239, 12_345.6].map(dollars)).toEqual([
    "$0",
    "$0.000021",
    "$0.0493",
    "$0.50",
    "$1.00",
    "$1.24",
    "$12,345.60",
  ]);
  expect([1e-7, 1e-12].map(dollars)).toEqual(["$0.0000001", "less than $0.000000001"]);
  expect([40, 9_900, 45_000, 200_000, 7_200_000, 500_000_000].map(duration)).toEqual([
    "0.0 s",
    "9.9 s",
    "45 s",
    "3 min",
    "2 h",
    "6 d",
  ]);
});

test("untrusted text cannot break a table or control a terminal", () => {
  expect(oneLine("a\n\tb\u{1b}[31mc\u{202e}d")).toBe("a b\u{fffd}[31mc\u{fffd}d");
  expect(fit("日本語のテキスト", 7)).toBe("日本語…");
  expect([fit("日本語", 6), fit("日本語", 5), fit("abcd", 4), fit("abcd", 3), fit("", 0)]).toEqual([
    "日本語",
    "日本…",
    "abcd",
    "ab…",
    "",
  ]);
});

test("escapes control characters in JSON without changing its value", () => {
  const value = { "a\u{9b}": "\u{7}\u{202e}\u{e0001}\u{2028}b\n" };
  const json = harmlessJson(JSON.stringify(value, null, 2));
  expect(json).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\u{2028}]/u);
  expect(JSON.parse(json)).toEqual(value);
});

test("escapes control characters in lines and records", () => {
  const { out, text } = written();
  const hostile = "\u{1b}]0;title\u{7}\u{202e}\r\u{9b}2J";
  out.print(`a\nb ${hostile}`);
  out.note(hostile);
  out.print(out.style(hostile, "red"));
  out.record({ hostile });
  const [first, second, ...rest] = text().split("\n");
  expect([first, second]).toEqual(["a", "b \u{fffd}]0;title\u{fffd}2J"]);
  expect(rest.slice(0, 2)).toEqual(["\u{fffd}]0;title\u{fffd}2J", "\u{fffd}]0;title\u{fffd}2J"]);
  expect(rest[2]).toMatch(/^[\x20-\x7e]+$/);
  expect(JSON.parse(rest[2] ?? "")).toEqual({ hostile });
});

function written(columns?: number) {
  let text = "";
  const sink = { write: (more: string) => Boolean((text += more)), columns };
  return { out: new Output(sink, sink, true), text: () => text };
}

test("aligns a table by the width of its characters", () => {
  const { out, text } = written();
  out.table(
    [{ title: "NAME" }, { title: "N", side: "right" }, { title: "REST" }],
    [
      ["日本", "1", "x"],
      ["a", "1,000", "y"],
    ],
  );
  expect(text()).toBe("NAME      N  REST\n日本      1  x\na     1,000  y\n");
});

test("does not cut facts, because users copy commands from them", () => {
  const { out, text } = written(30);
  out.facts([
    ["waits", "x".repeat(100)],
    ["id", "y"],
  ]);
  expect(text()).toBe(`waits  ${"x".repeat(100)}\nid     y\n`);
});

test("cuts nothing on a terminal of unknown width", () => {
  const { out, text } = written(0);
  out.table([{ title: "NAME" }, { title: "REST" }], [["name", "x".repeat(100)]]);
  expect(text().split("\n")[1]).toBe(`name  ${"x".repeat(100)}`);
});

test("prints the exact dollars of an estimate", () => {
  const { out, text } = written(60);
  const estimate = new Estimator(undefined).estimate();
  printEstimate(out, "f", estimate);
  expect(text()).toContain("Workers AI $0 · Queues $0 · D1 $0 · Workers $0\n");
});

test("cuts the last column at the terminal's width", () => {
  const { out, text } = written(30);
  out.table([{ title: "NAME" }, { title: "REST" }], [["name", "x".repeat(100)]]);
  expect(text().split("\n")[1]).toBe(`name  ${"x".repeat(23)}…`);
});
