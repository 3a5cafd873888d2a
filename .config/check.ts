import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { dirname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { print, whenReaderLeaves } from "../packages/client/src/cli/terminal.ts";

/** All checks that do not run Sluice. A step prints its output only if it fails. */

const root = fileURLToPath(new URL("..", import.meta.url));
/** Workers started by tests have their own project, because their globals are not Node's. */
const projectFiles = ["{packages,workers}/*/tsconfig.json", "packages/*/test/*/workers/tsconfig.json"];
const projects = globSync([...projectFiles, ".config/tsconfig.json"], { cwd: root }).toSorted();
/** In deployment order: the others can read what a new producer sends. */
const deployed = ["consumer", "poller", "producer"];

const steps: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ["format", "oxfmt", "-c", ".config/oxfmt.jsonc", "--check", "."],
  ["lint", "oxlint", "-c", ".config/oxlint.jsonc", "--type-aware", "--deny-warnings", "."],
  ["unused code", "knip", "-c", ".config/knip.jsonc", "--no-progress"],
  ["licenses", "node", ".config/check-licenses.ts"],
  ...projects.map((project) => [`types of ${dirname(project)}`, "tsc", "-p", project] as const),
  ...deployed.map(
    (worker) =>
      [`bundle of ${worker}`, "wrangler", "deploy", "--dry-run", "-c", `workers/${worker}/wrangler.jsonc`] as const,
  ),
];

const env = {
  ...process.env,
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_WRITE_LOGS: "false",
};
whenReaderLeaves([process.stdout, process.stderr], () => process.exit(0));
const failed: string[] = [];
for (const [name, command, ...args] of steps) {
  // A step blocks, so a closed output is noticed only between steps.
  await nextTurn();
  const started = performance.now();
  const run = spawnSync(command, args, { cwd: root, env, encoding: "utf8" });
  const ok = run.status === 0;
  print(`${ok ? "✓" : "✗"} ${name} (${((performance.now() - started) / 1_000).toFixed(1)} s)`);
  if (ok) continue;
  failed.push(name);
  print(run.error === undefined ? `${run.stdout}${run.stderr}` : `${command}: ${run.error.message}`);
}
print(
  failed.length === 0
    ? `All ${steps.length} checks passed.`
    : `${failed.length} of ${steps.length} checks failed: ${failed.join(", ")}. See their output above.`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
