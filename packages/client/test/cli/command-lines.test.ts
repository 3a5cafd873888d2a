import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { PushFlags } from "../../src/cli/commands/push-options.ts";
import { noteFollowing, printScored, reportSent } from "../../src/cli/commands/push-report.ts";
import { Output } from "../../src/cli/output.ts";
import { shellCommand, shellWord } from "../../src/cli/shell.ts";
import { documentCommand, waitingWords } from "../../src/cli/words.ts";
import { documentOf, submissionOf } from "../shapes.ts";
import { type Bench, records, test } from "./run.ts";

/** The words that a shell splits a line into. */
function wordsOf(shell: string, line: string): string[] {
  const { stdout, status, stderr } = spawnSync(shell, ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.split("\0").slice(0, -1);
}

const printable = [
  "plain",
  "",
  "-rf",
  "--",
  "a b",
  "$(touch pwned)",
  "`touch pwned`",
  "${HOME}",
  "it's",
  `it's "both" $HOME`,
  "a\\b",
  "it's\\",
  "wow!",
  "it's!",
  "*",
  "~",
  "#x",
  "a;b&c|d>e<f",
  "{a,b}",
  "=ls",
  "A=b",
  "größe 大小",
];
const hidden = ["a\nb", "a\tb", "a  b", "\u{1b}[31mred'\\", "abc\u{202e}123", "a\u{a0}b", "a\u{2028}7", "\u{7}7"];

/** Runs a printed command line as a user who copies it would. */
function runPrinted(bench: Bench, line: string | undefined) {
  const command = line?.split(/(?<=: +)(?=sluice )/).at(-1) ?? "";
  expect(command).toMatch(/^sluice /);
  const words = wordsOf("bash", command.slice("sluice ".length));
  return bench.run(words);
}

const ids = ["-rf", "--collection", "$(touch pwned)", "it's `id`", "a  b"];

/** Returns what `work` prints and notes. */
function printedBy(work: (out: Output) => void): string {
  let text = "";
  const sink = { write: (more: string) => ((text += more), true) };
  work(new Output(sink, sink, true));
  return text;
}

const [one, two] = ["sub_1", "sub_2"].map((id) => submissionOf(id, [], new URLSearchParams()));
const several = [one, two].filter((submission) => submission !== undefined);

test.each(printable)("quotes %j so that a shell reads it back as one word", (word) => {
  expect(wordsOf("sh", shellWord(word))).toEqual([word]);
});

test.each(hidden)("escapes %j in a form that bash reads back", (word) => {
  expect(shellWord(word)).toMatch(/^\$'[\x20-\x7e]*'$/);
  expect(wordsOf("bash", shellWord(word))).toEqual([word]);
});

test("quotes only words that need it, and keeps SQL statements readable", () => {
  expect(shellWord("sub_01a2-b.c/d:e@f,g%h+i=j")).toBe("sub_01a2-b.c/d:e@f,g%h+i=j");
  expect(shellWord("SELECT 'a'")).toBe(`"SELECT 'a'"`);
  expect(shellWord("SELECT $x")).toBe("'SELECT $x'");
});

test("puts the object of a command after --, even if it begins with -", () => {
  expect(shellCommand(["sluice", "why", "--collection", "-c"], ["-x"])).toBe("sluice why --collection -c -- -x");
  expect(shellCommand(["sluice", "resume"])).toBe("sluice resume");
});

test.for(ids)("prints commands that find the document %j", async (id, { bench }) => {
  bench.write("docs.ndjson", [{ id, query: "q", contexts: ["a"] }]);
  await bench.run(["push", "docs.ndjson", "--collection", "-c"]);
  const why = await bench.run(["why", "--collection", "-c", "-o", "table", "--", id]);
  expect(why.code, why.stderr).toBe(0);
  const line = why.stdout.split("\n").find((one) => one.includes("sluice scores"));
  const scores = await runPrinted(bench, line);
  expect(records(scores.stdout)).toMatchObject([{ document_id: id, collection: "-c" }]);
  expect(existsSync(join(bench.folder, "pwned"))).toBe(false);
});

test("prints a why command for a document without scores", async ({ bench }) => {
  const id = "-$(touch pwned)";
  bench.write("docs.ndjson", [{ id, query: "fail", contexts: ["a"] }]);
  await bench.run(["push", "docs.ndjson"]);
  const { code, stderr } = await bench.run(["scores", "--", id]);
  expect([code, stderr]).toEqual([3, `${id} failed and has no scores. To find out why: sluice why -- '${id}'\n`]);
  expect(records((await runPrinted(bench, stderr.trimEnd())).stdout)).toMatchObject([{ document: { id } }]);
});

test("names every submission of a push, with and without waiting", () => {
  const follow = "Follow it:   sluice status -- sub_1\nFollow it:   sluice status -- sub_2\n";
  expect(printedBy((out) => printScored(out, several, false))).toBe(`\n${follow}`);
  expect(printedBy((out) => noteFollowing(out, "Stopped waiting. ", several))).toBe(
    "Stopped waiting. Everything was sent and is being scored. To follow it:\n  sluice status -- sub_1\n  sluice status -- sub_2\n",
  );
  expect(printedBy((out) => noteFollowing(out, "", several.slice(1)))).toBe(
    "Everything was sent and is being scored. To follow it: sluice status -- sub_2\n",
  );
});

test("quotes idempotency keys, models and collections in commands", () => {
  const flags: PushFlags = { truncate: true, format: "sluice", wait: true, key: "$(touch pwned) x" };
  expect(printedBy((out) => reportSent(out, "Stopped while sending", "f", 2, flags))).toContain(
    "with --key '$(touch pwned) x', within",
  );
  const waiting = { reason: "paused_model", until: null } as const;
  expect(waitingWords(waiting, { model: "a b", submission: null }, 0)).toMatch(/sluice resume --model 'a b'$/);
  const document = documentOf({ id: "-d", query: "q", contexts: [] }, "s", new URLSearchParams({ collection: "-c" }));
  expect(documentCommand("why", document)).toBe("sluice why --collection -c -- -d");
});

test("reports no number of documents if none was sent", () => {
  const flags: PushFlags = { truncate: true, format: "sluice", wait: true };
  expect(printedBy((out) => reportSent(out, "Stopped while sending", "f", 0, flags))).toMatch(
    /^Stopped while sending: nothing went out\.\n/,
  );
});
