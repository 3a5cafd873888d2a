import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/** Runs a command, and returns its exit code and what it printed. */
function run(command: string, ...args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const script = fileURLToPath(import.meta.resolve(`../src/${command}.ts`));
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--no-warnings", script, ...args], {
    encoding: "utf8",
    env: { ...process.env, SLUICE_API_KEY: "" },
  });
  return { code: status, stdout, stderr };
}

it.each<[string, readonly string[], string]>([
  ["deploy", ["--env", "dead"], "cannot name an environment"],
  ["deploy", ["--envs", "staging"], "--help"],
  ["destroy", [], "Name the environment to delete: --env NAME"],
  ["destroy", ["--yes"], "Name the environment to delete: --env NAME"],
  ["destroy", ["--env", "No"], "cannot name an environment"],
  ["smoke", ["--key", "k"], "needs --url and --key"],
  ["smoke", ["--url", "x", "--key", "k"], "url"],
  ["smoke", ["--url", "https://x", "--key", "k", "--minutes", "soon"], "--minutes"],
])("%s %j is a usage error", (command, args, words) => {
  expect(run(command, ...args)).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(words) });
});

it.each(["deploy", "destroy", "smoke"])("%s --help names the options", (command) => {
  const { code, stdout } = run(command, "--help");
  expect(code).toBe(0);
  expect(stdout).toMatch(/--(env|url) /);
});
