import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { Bench, records } from "./run.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.start();
});
afterEach(() => bench.stop());

test("a new key is shown with the hash that the API is told, and nothing is sent", async () => {
  const { stdout } = await bench.run(["keys", "new", "--name", "n", "--scopes", "ingest", "--collections", "a,b"]);
  const [made] = records(stdout) as { key: string; entry: unknown }[];
  const sha256 = createHash("sha256")
    .update(made?.key ?? "")
    .digest("hex");
  expect(made?.entry).toEqual({ name: "n", sha256, scopes: ["ingest"], collections: ["a", "b"] });
  expect(bench.api.received).toEqual([]);
  expect((await bench.run(["keys", "new", "--scopes", "root"])).code).toBe(2);
});

test.each([
  [["frobnicate"], "unknown command"],
  [["push"], "missing required argument"],
  [["push", "x", "--lane", "slow"], "Allowed choices are interactive, bulk"],
  [["jobs", "--limit", "0"], "whole number"],
])("%j is called wrongly", async (args, words) => {
  const { code, stderr } = await bench.run(args);
  expect(stderr).toContain(words);
  expect(code).toBe(2);
});

test("every command's --help has examples", () => {
  const program = createProgram(async () => {});
  const all = program.commands.flatMap((command) => (command.commands.length > 0 ? command.commands : [command]));
  const names = "push status results scores why jobs retry cancel pause resume tail new";
  expect(all.map((command) => command.name()).join(" ")).toBe(names);
  for (const command of all) {
    let text = "";
    command.configureOutput({ writeOut: (more) => (text += more) }).outputHelp();
    expect(text).toMatch(new RegExp(`Examples:\n  sluice (keys )?${command.name()}`));
  }
});

test("--help tells the environment and every exit code", async () => {
  const { code, stdout } = await bench.run(["--help"]);
  expect(stdout).toContain("SLUICE_API_KEY");
  expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 .*\n {2}4 .*\n {2}5 .*\n {2}130 /);
  expect(code).toBe(0);
});

test("without a key, or with a wrong one, the command says which variable holds it", async () => {
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

test("where nothing listens the command says so at once", async () => {
  await bench.close();
  const { code, stderr } = await bench.run(["status"]);
  expect(stderr).toBe(
    `Nothing answers at ${bench.env["SLUICE_URL"]}. Is it running there? SLUICE_URL says where the API is.\n`,
  );
  expect(code).toBe(1);
});
