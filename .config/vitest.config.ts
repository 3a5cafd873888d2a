import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import type { InlineConfig } from "vitest/node";

/** An optional file for the results as JSON, in addition to the printed report. */
const report = process.env["SLUICE_TEST_REPORT"] ?? "";

export const reporters: NonNullable<InlineConfig["reporters"]> =
  report === "" ? ["default"] : ["default", ["json", { outputFile: report }]];

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    projects: ["workers/*/vitest*.config.ts", "packages/*/vitest*.config.ts"],
    reporters,
    // Files that wait for processes leave a core idle, so even two cores run two files at once.
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
});
