import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { test, type Bench, type Ended } from "./run.ts";

const COMMAND = fileURLToPath(import.meta.resolve("../../src/cli/sluice.ts"));
const DOCUMENTS = 3_000;

function writeDocuments(bench: Bench): void {
  bench.write(
    "f.ndjson",
    Array.from({ length: DOCUMENTS }, (_, n) => ({ id: `d${n}`, query: "q", contexts: ["a", "b"] })),
  );
}

/** Runs the command in a shell with a reader that exits after three lines. Returns the command's exit code. */
async function headed(bench: Bench, args: string): Promise<Ended> {
  const line = `"${process.execPath}" "${COMMAND}" ${args} | head -n 3; exit "\${PIPESTATUS[0]}"`;
  const child = spawn("bash", ["-c", line], { cwd: bench.folder, env: bench.env });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...output })));
}

test.for([
  ["a stream of records", "results sub_0001 -o ndjson"],
  ["a table", "results sub_0001 -o table"],
] as const)("%s exits quietly with 0 once its reader is gone", async ([_, args], { bench }) => {
  writeDocuments(bench);
  await bench.run(["push", "f.ndjson", "--no-wait"]);
  const { code, stdout, stderr } = await headed(bench, args);
  expect(stdout.trimEnd().split("\n")).toHaveLength(3);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("exits the same way when the reader of stderr is gone, and leaves no temporary file", async ({ bench }) => {
  writeDocuments(bench);
  bench.env["TMPDIR"] = bench.folder;
  const { child, ended } = bench.start(["push", "-", "--no-wait"], "{\n{\n");
  child.stderr.destroy();
  expect(await ended).toMatchObject({ code: 0 });
  expect(readdirSync(bench.folder)).toEqual(["f.ndjson", "stdin.rejected.ndjson"]);
});
