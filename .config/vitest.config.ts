import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import type { InlineConfig } from "vitest/node";

/** A file to write the results to as JSON, besides telling them. */
const report = process.env["SLUICE_TEST_REPORT"] ?? "";

export const reporters: NonNullable<InlineConfig["reporters"]> =
  report === "" ? ["default"] : ["default", ["json", { outputFile: report }]];

/**
 * `test` runs it with `--no-isolate`, for every project: the files of one share a process or a runtime, and what they
 * import is loaded once. A file must leave nothing behind: D1, KV and Queues are emptied before each test.
 */
export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    projects: ["workers/*/vitest*.config.ts", "packages/*/vitest*.config.ts"],
    reporters,
  },
});
