import { createHash } from "node:crypto";
import { failureCodes, jobStatuses, lanes, modelNames } from "@sluice/core";
import { expect } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import * as choices from "../../src/cli/choices.ts";
import { createProgram } from "../../src/cli/program.ts";
import { records, test } from "./run.ts";

const STATUSES = "Allowed choices are receiving, queued, processing, canceling, completed, canceled, stalled.";

const called = async (args: readonly string[]) => {
  let output = "";
  const program = createProgram(async () => {
    throw new Error("it ran");
  });
  const all = program.commands.flatMap((command) => [command, ...command.commands]);
  for (const command of all) command.exitOverride().configureOutput({ writeErr: (text) => (output += text) });
  await expect(program.parseAsync(args, { from: "user" })).rejects.toMatchObject({ exitCode: 1 });
  return output;
};

test("keys new prints a key with its hash and sends nothing", async ({ bench }) => {
  const { stdout } = await bench.run(["keys", "new", "--name", "n", "--scopes", "ingest", "--collections", "a,b"]);
  const [made] = records(stdout) as { key: string; entry: unknown }[];
  const sha256 = createHash("sha256")
    .update(made?.key ?? "")
    .digest("hex");
  expect(made?.entry).toEqual({ name: "n", sha256, scopes: ["ingest"], collections: ["a", "b"] });
  expect(bench.api.received).toEqual([]);
});

test.for([
  [["frobnicate"], "unknown command"],
  [["push"], "missing required argument"],
  [["push", "x", "--lane", "slow"], "Allowed choices are interactive, bulk"],
  [["jobs", "--limit", "0"], "whole number"],
  [["why", ""], "<id> must not be empty"],
  [["push", "", "--estimate"], "<file> must not be empty"],
  [["status", ""], "[submission] must not be empty"],
  [["status", "-s", "bogus"], STATUSES],
  [["keys", "add"], "unknown command 'add'"],
  [["keys", "add", "--help"], "unknown command 'add'"],
  [["keys", "add", "--help", "new"], "unknown command 'add'"],
  [["frobnicate", "--help"], "unknown command 'frobnicate'"],
  [["frobnicate", "-h"], "unknown command 'frobnicate'"],
] as const)("%j is a usage error", async ([args, words], { bench }) => {
  const { code, stdout, stderr } = await bench.run(args);
  expect(stderr).toContain(words);
  expect([code, stdout]).toEqual([2, ""]);
});

test.each([
  [["status", "-s", "bogus"], STATUSES],
  [["status", "--collection", "a/b"], "1 to 64 characters from A-Z a-z 0-9 . _ -"],
  [["status", "-n", "1001"], "a whole number from 1 to 1000"],
  [["status", "-n", "1e3"], "a whole number from 1 to 1000"],
  [["results", "s", "-s", "done"], "Allowed choices are queued, processing, succeeded, failed, canceled."],
  [["results", "s", "--top-k", "0"], "a whole number from 1 to 1000"],
  [["results", "s", "--include", "text,scores"], "one or more of text, metadata"],
  [["scores", "d", "--top-k", "-1"], "a whole number from 1 to 1000"],
  [
    ["jobs", "-s", "bogus"],
    "Allowed choices are pending, dispatching, dispatched, succeeded, split, failed, canceled, merged.",
  ],
  [["jobs", "--lane", "slow"], "Allowed choices are interactive, bulk."],
  [["jobs", "-n", "x"], "a whole number from 1 to 1000"],
  [["retry", "s", "--code", "bogus"], "Allowed choices are invalid_input, too_large, model_error, missing_result,"],
  [["pause", "--model", "bogus"], "Allowed choices are @cf/baai/bge-m3."],
  [["resume", "--model", "bogus"], "Allowed choices are @cf/baai/bge-m3."],
  [["tail", "--include", "x"], "one or more of text, metadata"],
  [["tail", "--top-k", "1001"], "a whole number from 1 to 1000"],
  [["push", "f", "--model", "bogus"], "Allowed choices are @cf/baai/bge-m3."],
  [["push", "f", "--format", "csv"], "Allowed choices are sluice, cohere, voyage, tsv."],
  [["push", "f", "--max-usd", "cheap"], "a number of dollars, such as 5 or 0.50"],
  [["push", "f", "--key", "é"], "1 to 250 printable ASCII characters"],
  [["keys", "new", "--scopes", "root"], "one or more of ingest, read, admin"],
  [["keys", "new", "--collections", "a,"], "1 to 64 characters from"],
  [["tail", "--all", "--cursor", "x"], "'--all' cannot be used with option '--cursor <cursor>'"],
  [["pause", "--model", "@cf/baai/bge-m3", "--submission", "s"], "cannot be used with option '--submission"],
  [["status", "-o", "yaml"], "Allowed choices are table, ndjson."],
])("refuses %j before any request, and lists the allowed values", async (args, words) => {
  expect(await called(args)).toContain(words);
});

test("the option lists match the API's", () => {
  expect([choices.models, choices.lanes, choices.jobStatuses, choices.failureCodes]).toEqual([
    modelNames,
    lanes,
    jobStatuses,
    failureCodes,
  ]);
});

test("every command's --help has examples", () => {
  const program = createProgram(async () => {});
  const all = program.commands.flatMap((command) => (command.commands.length > 0 ? command.commands : [command]));
  const names = "push status results scores why jobs retry cancel pause resume doctor malformed tail get delete new";
  expect(all.map((command) => command.name()).join(" ")).toBe(names);
  for (const command of all) {
    let text = "";
    command.configureOutput({ writeOut: (more) => (text += more) }).outputHelp();
    expect(text).toMatch(new RegExp(`Examples:\n  sluice ((keys|collections) )?${command.name()}`));
  }
});

test("--version prints the package's version, and help shows defaults as typed", async ({ bench }) => {
  const { code, stdout } = await bench.spawn(["--version"]);
  expect([code, stdout]).toEqual([0, `${manifest.version}\n`]);
  expect((await bench.run(["keys", "new", "--help"])).stdout).toMatch(/\(default:\s+ingest,read\)/);
});

test("--help lists the environment variables and every exit code", async ({ bench }) => {
  const { code, stdout } = await bench.run(["--help"]);
  expect(stdout).toContain("SLUICE_API_KEY");
  expect(stdout).toContain("NODE_USE_ENV_PROXY=1");
  expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 .*\n {2}4 .*\n {2}5 .*\n {2}130 /);
  expect(code).toBe(0);
});

test("names the variable of a missing or invalid key", async ({ bench }) => {
  bench.env["SLUICE_API_KEY"] = "";
  expect(await bench.run(["status"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("SLUICE_API_KEY is not set") as string,
  });
  bench.env["SLUICE_API_KEY"] = "wrong";
  const wrong = await bench.run(["status"]);
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("SLUICE_API_KEY") as string });
  expect(wrong.stderr).not.toContain("wrong");
});

test("reports at once that nothing listens", async ({ bench }) => {
  await bench.close();
  const { code, stderr } = await bench.spawn(["status"]);
  const url = bench.env["SLUICE_URL"] ?? "";
  expect(stderr).toBe(
    `Not reachable: Nothing answers at ${url} (ECONNREFUSED). Check that the server is running.\nCheck the URL in SLUICE_URL.\n`,
  );
  expect(code).toBe(1);
});
